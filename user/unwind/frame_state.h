/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame_state.h - what is known of a function's frame before one of its instructions, and what the instruction makes of it.
 *
 * All is measured from the CFA, or, once the code has aligned the stack pointer and nobody knows any more how far the CFA
 * is above it, from where it was then. One fact that does not hold is one that is not known; nothing is guessed.
 */
#ifndef GECKOBPF_UNWIND_FRAME_STATE_H
#define GECKOBPF_UNWIND_FRAME_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/instruction.h"
#include "unwind/rule_set.h"

/* What a register or a word of the stack holds. */
enum frame_value {
	FRAME_UNKNOWN = 0,
	FRAME_CFA, /* the CFA + offset */
	FRAME_ALIGNED, /* where the stack pointer was when it was aligned, + offset */
	FRAME_CALLERS, /* FP alone: what the caller had in it */
	FRAME_ZERO, /* FP alone */
};

/* What is not used is 0, so that equal states are equal bytes. */
struct frame_state {
	uint8_t sp, fp; /* enum frame_value */
	uint8_t saved_fp; /* the caller's FP is on the stack: FRAME_CFA or FRAME_ALIGNED, + saved_fp_at; or FRAME_UNKNOWN */
	uint8_t alias; /* FRAME_CFA: `alias_reg` holds the CFA + alias_offset; or FRAME_UNKNOWN */
	uint8_t alias_reg; /* enum gb_reg */
	uint8_t saved_cfa; /* FRAME_ALIGNED: the word at saved_cfa_at holds the CFA + saved_cfa_offset; or FRAME_UNKNOWN */
	uint8_t is_outermost; /* nothing called this function */
	uint8_t is_conflict; /* ways that lead here do not agree: nothing else is known */
	int32_t sp_offset, fp_offset;
	int32_t saved_fp_at, alias_offset;
	int32_t saved_cfa_at, saved_cfa_offset;
};

/* Before the first instruction of a function. */
struct frame_state frame_state_entry(void);

/* Where the first instruction of a program is: nothing called it. */
struct frame_state frame_state_outermost(void);

/* After `instruction`, which did not go elsewhere; after a call: once it has returned. */
void frame_state_step(struct frame_state *state, const struct instruction *instruction);

/* What holds where two ways come together. Whatever the order in which more of them do, it comes to an end. */
struct frame_state frame_state_meet(const struct frame_state *left,
				    const struct frame_state *right);

/* Whether all is as it was on entry: only so may a function return, or go on as another. */
bool frame_state_is_balanced(const struct frame_state *state);

/* The same, of the stack pointer alone. */
bool frame_state_can_return(const struct frame_state *state);

/* What a rule is made of. False: the CFA is not known. */
bool frame_state_describe(const struct frame_state *state, struct cfa_state *out);

#endif
