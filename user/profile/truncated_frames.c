/* SPDX-License-Identifier: BSD-2-Clause */
/* truncated_frames.c - what stands, as the root, for the frames that are missing: the reason, in words. */
#include "profile/frame_kind.h"

#include <stdio.h>

#include "profile/profile.h"

const char *profile_stack_end(uint64_t end)
{
	static const char *const names[GB_STACK_END_COUNT] = {
		[GB_STACK_FAILED] = "no registers",
		[GB_STACK_FULL] = "more frames than there is room for",
		[GB_STACK_NO_PROCESS] = "process not known yet",
		[GB_STACK_NO_MAPPING] = "return address outside of all code",
		[GB_STACK_NO_RULE] = "unwind information not supported",
		[GB_STACK_FP_FAILED] = "neither unwind information nor frame pointer",
		[GB_STACK_READ_FAILED] = "stack not readable",
		[GB_STACK_NOT_MONOTONIC] = "frames out of order",
		[GB_STACK_COMPAT32] = "32-bit process",
		[GB_STACK_NOT_TAKEN] = "it did not run again",
	};

	return end < GB_STACK_END_COUNT ? names[end] : NULL;
}

int profile_complete_permille(const struct profile_summary *summary)
{
	uint64_t complete = summary->stack_ends[GB_STACK_COMPLETE], all = complete;
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (profile_stack_end(end))
			all += summary->stack_ends[end];
	return all ? (int)(complete * 1000 / all) : -1;
}

static int find_truncated(const struct frame_query *query, struct frame_finding *found)
{
	const char *why = profile_stack_end(query->value);

	snprintf(found->text, FRAME_TEXT_BYTES, "(truncated: %s)", why ? why : "reason not known");
	found->function.name = found->text;
	return 0;
}

const struct frame_kind truncated_frames = {
	.kind = GB_FRAME_TRUNCATED,
	.category = CATEGORY_OTHER,
	.find = find_truncated,
};
