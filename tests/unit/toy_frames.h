/* SPDX-License-Identifier: BSD-2-Clause */
/* toy_frames.h - a kind of frame that is no code: a number, which is called by its digits. */
#ifndef GECKOBPF_TESTS_TOY_FRAMES_H
#define GECKOBPF_TESTS_TOY_FRAMES_H

#include <inttypes.h>
#include <stdio.h>

#include "profile/frame_kind.h"

#define TOY_FRAME 9

static int find_toy(const struct frame_query *query, struct frame_finding *found)
{
	snprintf(found->text, FRAME_TEXT_BYTES, "toy number %" PRIu64, query->value);
	found->function.name = found->text;
	found->function.file = "toys.txt";
	found->frame.line = (uint32_t)query->value;
	return 0;
}

static const struct frame_kind toy_frames = {
	.kind = TOY_FRAME,
	.category = CATEGORY_IDLE,
	.find = find_toy,
};

#endif
