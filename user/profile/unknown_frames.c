/* SPDX-License-Identifier: BSD-2-Clause */
/* unknown_frames.c - frames of kinds that this version does not know: their numbers are all that can be told. */
#include "profile/frame_kind.h"

#include <inttypes.h>
#include <stdio.h>

#include "profile/frames.h"

static int find_unknown(const struct frame_query *query, struct frame_finding *found)
{
	if (query->source->redaction)
		snprintf(found->text, FRAME_TEXT_BYTES, "(frame of kind %u)", found->function.kind);
	else
		snprintf(found->text, FRAME_TEXT_BYTES, "(frame of kind %u: 0x%" PRIx64 ")",
			 found->function.kind, query->value);
	found->function.name = found->text;
	return 0;
}

const struct frame_kind unknown_frames = {
	.category = CATEGORY_OTHER,
	.find = find_unknown,
};
