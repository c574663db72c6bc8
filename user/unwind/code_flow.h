/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_flow.h - follows the ways through a stretch of machine code that nobody has described, and says what the stack
 * pointer is worth at every instruction.
 *
 *   entries ──> instruction by instruction, with a frame_state ──> branch: both ways; jump: there; return: the end
 *                        │                                          call: behind it, once the called function is known to return
 *                        └── where two ways come together: frame_state_meet()
 *
 * What no way leads to (what a table of addresses jumps to, functions that only pointers lead to) is tried: code
 * that begins where other code ends gets the state of a jump by table nearby, or that of a function's entry; it is
 * believed if all ways through it are possible, and one of them returns with all as it was, or gets to a place that is known.
 *
 * Code is data of a file: any bytes. Work is bounded by their number.
 */
#ifndef GECKOBPF_UNWIND_CODE_FLOW_H
#define GECKOBPF_UNWIND_CODE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/code_walk.h"

/* A function begins at `at`, if that is claimed; is_outermost: the program does. 0 or -ENOMEM. */
int code_flow_enter(struct code_flow *flow, uint32_t at, bool is_outermost);

/* Something points to `at`, where a function may begin. 0 or -ENOMEM. */
int code_flow_point(struct code_flow *flow, uint32_t at);

/* Follows all ways, then tries what they have not led to. 0 or -ENOMEM. */
int code_flow_run(struct code_flow *flow);

/* What is known before the instruction at `at`; NULL: nothing, or one does not begin there (is_inside says which). */
const struct frame_state *code_flow_at(const struct code_flow *flow, uint32_t at, bool *is_inside);

/* Whether at `at` there are *length bytes between functions, that nobody runs. */
bool code_flow_is_padding(const struct code_flow *flow, uint32_t at, uint32_t *length);

/* How many functions make a frame, and how many of them keep a frame pointer. */
void code_flow_count_frames(const struct code_flow *flow, uint64_t *frames, uint64_t *with_fp);

#endif
