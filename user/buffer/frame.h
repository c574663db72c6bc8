/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - a frame of a stack, in user space.
 *
 * Where a frame of user code is on the stack follows from the sizes of those above it: a sample
 * says where the outermost one ends (stack_base), and each begins where its callee's ends. Below a
 * frame that is FAR the stack is elsewhere; a sample says where for the outermost of them (far_sp).
 *
 *   higher addresses
 *     stack_base  ──> +----------------+
 *                     | outermost      |  stack_words * 8 bytes
 *     its RSP     ──> +----------------+ <── CFA of its callee
 *                     | callee, FAR    |  more than can be told, or on another stack
 *     far_sp      ──> +----------------+
 *                     | its callee     |
 */
#ifndef GECKOBPF_BUFFER_FRAME_H
#define GECKOBPF_BUFFER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "geckobpf_frame.h"

#define FRAME_KINDS_MAX 16 /* for which there is room in what is stored */
#define FRAME_FAR UINT16_MAX

struct frame {
	uint64_t value; /* what it means depends on the kind */
	uint16_t
		stack_words; /* see frame_is_user(): its size on the stack / 8, or FRAME_FAR; else 0 */
	/* enum gb_frame_kind, or one below FRAME_KINDS_MAX that is not known: from a file that a later version wrote */
	uint8_t kind;
};

static inline bool frame_is(const struct frame *frame, enum gb_frame_kind kind)
{
	return frame->kind == kind;
}

/* Whether it is of one of the kinds that are user code. */
static inline bool frame_is_user(const struct frame *frame)
{
	return frame_is(frame, GB_FRAME_USER) || frame_is(frame, GB_FRAME_INTERRUPTED) ||
	       frame_is(frame, GB_FRAME_SIGNAL);
}

/*
 * The RSP in a frame whose CFA is `cfa`, which is the CFA of its callee; 0 for either: not known.
 * *far_sp is that of the sample, and is used up by the first FAR frame.
 */
static inline uint64_t frame_sp(const struct frame *frame, uint64_t cfa, uint64_t *far_sp)
{
	uint64_t sp = cfa - (uint64_t)frame->stack_words * 8;

	if (frame->stack_words == FRAME_FAR) {
		sp = *far_sp;
		*far_sp = 0;
		return sp;
	}
	return cfa > (uint64_t)frame->stack_words * 8 ? sp : 0;
}

#endif
