/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss_markers.c - "Samples lost", "Ticks missed", "Events lost": when, how many, and why.
 *
 * Whose they were is not known, so they stand in one place: on the main thread of the busiest process (tracks.h).
 */
#include "profile/marker.h"

#include <string.h>

#include "recording/losses.h"
#include "recording/recording.h"

enum { COUNT, WHY, CPU, COUNTER, FIELD_COUNT };

static const struct marker_field fields[FIELD_COUNT] = {
	[COUNT] = {"count", "How many", MARKER_INTEGER},
	[WHY] = {"why", "Why", MARKER_STRING},
	[CPU] = {"cpu", "CPU time that they stand for", MARKER_DURATION},
	[COUNTER] = {"counter", "Counter in the log", MARKER_STRING},
};

static const char *const names[LOSS_KIND_COUNT] = {
	[LOSS_OF_SAMPLES] = "Samples lost",
	[LOSS_OF_TICKS] = "Ticks missed",
	[LOSS_OF_EVENTS] = "Events lost",
};

static int send_loss(const struct marker_pass *pass, const struct loss *loss)
{
	const struct recording_facts *facts = pass->process->facts;
	const struct loss_words *words = &loss_words[loss->cause];
	uint64_t from_ns = loss->from_ns, cpu_ns;
	struct profile_marker marker = {
		.kind = &loss_markers,
		.name = names[words->kind],
		.name_length = strlen(names[words->kind]),
	};

	/* A capture has what was counted until it was written. */
	if (facts->until_ns && from_ns > facts->until_ns)
		from_ns = facts->until_ns;
	marker.values[COUNT] = marker_number(loss->count);
	marker.values[WHY] = marker_text(words->why, strlen(words->why));
	if (words->kind == LOSS_OF_TICKS &&
	    !__builtin_mul_overflow(loss->count, facts->interval_ns, &cpu_ns) &&
	    cpu_ns <= INT64_MAX)
		marker.values[CPU] = marker_number(cpu_ns);
	marker.values[COUNTER] = marker_text(words->counter, strlen(words->counter));
	return marker_send_span(pass, &marker, from_ns, loss->to_ns);
}

static int send_losses(const struct marker_pass *pass)
{
	const struct recording_facts *facts = pass->process->facts;
	size_t i;
	int err = 0;

	for (i = 0; pass->is_busiest && i < facts->loss_count && !err; i++)
		err = send_loss(pass, &facts->losses[i]);
	return err;
}

const struct marker_kind loss_markers = {
	.type = "Loss",
	.description = "What the recording lost sometime between begin and end; of which "
		       "thread is not known.",
	.table_label = "{marker.data.count}: {marker.data.why}",
	.chart_label = "{marker.data.count}",
	.fields = fields,
	.field_count = FIELD_COUNT,
	.category = CATEGORY_OTHER,
	.send = send_losses,
};
