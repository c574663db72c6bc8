/* SPDX-License-Identifier: BSD-2-Clause */
/* frames.h - what tests of stacks share. */
#ifndef GECKOBPF_TESTS_FRAMES_H
#define GECKOBPF_TESTS_FRAMES_H

#include "buffer/frame.h"

static inline bool frame_equals(const struct frame *one, const struct frame *other)
{
	return one->value == other->value && one->stack_words == other->stack_words &&
	       one->kind == other->kind;
}

#endif
