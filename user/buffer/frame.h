/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h - a frame of a stack, in user space. */
#ifndef GECKOBPF_BUFFER_FRAME_H
#define GECKOBPF_BUFFER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "geckobpf_frame.h"

struct frame {
	uint64_t value; /* what it means depends on the kind */
	/* enum gb_frame_kind; one that is not known may come from a file that a later version wrote */
	uint8_t kind;
};

static inline bool frame_is(const struct frame *frame, enum gb_frame_kind kind)
{
	return frame->kind == kind;
}

static inline bool frame_equals(const struct frame *one, const struct frame *other)
{
	return one->value == other->value && one->kind == other->kind;
}

#endif
