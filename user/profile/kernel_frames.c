/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_frames.c - code of the kernel and its modules: by the kernel's own symbols. */
#include "profile/frame_kind.h"

#include <errno.h>

#include "profile/frames.h"
#include "profile/redaction.h"
#include "symbol/symbols.h"

static bool has_names(const struct frames_source *source)
{
	return source->symbols && source->has_kernel;
}

static int find_kernel(const struct frame_query *query, struct frame_finding *found)
{
	const struct symbol_place place = symbols_place(NULL, query->value, query->time_ns);
	const struct frames_source *source = query->source;
	int err;

	if (!has_names(source) && !source->redaction) {
		found->function.value = found->frame.address = query->value;
		return 0;
	}
	redaction_add(source->redaction, REDACTED_KERNEL_ADDRESSES);
	found->function.lib = "[kernel]";
	err = has_names(source) ? symbols_lookup(source->symbols, &place, found->symbols) : -ENOENT;
	if (err != -ENOENT)
		return err;
	found->is_unnamed = source->symbols != NULL;
	found->function.name = "[unknown]";
	return 0;
}

static int caller_shift(const struct frames_source *source)
{
	return has_names(source) ? -1 : 0;
}

const struct frame_kind kernel_frames = {
	.kind = GB_FRAME_KERNEL,
	.category = CATEGORY_KERNEL,
	.caller_shift = caller_shift,
	.find = find_kernel,
};
