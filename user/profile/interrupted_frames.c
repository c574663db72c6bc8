/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupted_frames.c - user code that has called nothing though it has callees: what a signal interrupted, and what
 * the signal's handler returns to. Its address is exact.
 */
#include "profile/frame_kind.h"

#include "profile/frames.h"
#include "symbol/symbols.h"

/* A reader that takes off 1 is to get what was meant. */
static int caller_shift(const struct frames_source *source)
{
	return !source->symbols && source->addresses == ADDRESSES_BEHIND_CALLS ? 1 : 0;
}

/* The functions are the same as where they call. */
static int find_interrupted(const struct frame_query *query, struct frame_finding *found)
{
	found->function.kind = GB_FRAME_USER;
	return user_frames.find(query, found);
}

/* It is not exported, so a libc without debug information has no symbol for it. */
static int find_signal(const struct frame_query *query, struct frame_finding *found)
{
	int err = find_interrupted(query, found);

	if (err || !found->is_unnamed)
		return err;
	found->is_unnamed = false;
	found->function.value = 0;
	found->function.is_start = false;
	found->function.name = "__restore_rt";
	return 0;
}

const struct frame_kind interrupted_frames = {
	.kind = GB_FRAME_INTERRUPTED,
	.category = CATEGORY_USER,
	.is_mapped = true,
	.caller_shift = caller_shift,
	.find = find_interrupted,
};

const struct frame_kind signal_frames = {
	.kind = GB_FRAME_SIGNAL,
	.category = CATEGORY_USER,
	.is_mapped = true,
	.caller_shift = caller_shift,
	.find = find_signal,
};
