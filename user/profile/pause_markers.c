/* SPDX-License-Identifier: BSD-2-Clause */
/* pause_markers.c - "Recording paused": no samples were taken, on each process that was there. */
#include "profile/marker.h"

#include <string.h>

#include "target/process.h"

#define NAME "Recording paused"

static bool was_there(const struct process *process, const struct time_range *range)
{
	return (!range->end_ns || process->born_ns < range->end_ns) &&
	       (!process->died_ns || process->died_ns > range->start_ns);
}

static int send_pauses(const struct marker_pass *pass)
{
	const struct recording_facts *facts = pass->process->facts;
	size_t i;
	int err = 0;

	for (i = 0; i < facts->pause_count && !err; i++) {
		const struct time_range *pause = &facts->pauses[i];
		struct profile_marker marker = {
			.kind = &pause_markers, .name = NAME, .name_length = strlen(NAME)};

		if (was_there(pass->process->process, pause))
			err = marker_send_span(pass, &marker, pause->start_ns, pause->end_ns);
	}
	return err;
}

const struct marker_kind pause_markers = {
	.type = NAME,
	.description = "No samples were taken.",
	.table_label = "no samples were taken",
	.chart_label = NAME,
	.category = CATEGORY_OTHER,
	.send = send_pauses,
};
