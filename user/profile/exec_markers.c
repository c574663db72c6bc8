/* SPDX-License-Identifier: BSD-2-Clause */
/* exec_markers.c - "Exec": a process becomes another program, where that one begins. */
#include "profile/marker.h"

#include <string.h>

#include "target/process.h"

enum { ARGV, BEFORE, FIELD_COUNT };

static const struct marker_field fields[FIELD_COUNT] = {
	[ARGV] = {"argv", "Command", MARKER_STRING},
	[BEFORE] = {"before", "Before", MARKER_STRING},
};

static int send_exec(const struct marker_pass *pass)
{
	const struct process *process = pass->process->process, *before = process->previous;
	struct profile_marker marker = {
		.kind = &exec_markers, .name = "Exec", .name_length = strlen("Exec")};

	if (!process->is_execed)
		return 0;
	marker.values[ARGV] = marker_text(pass->process->name, pass->process->name_length);
	if (before && before->key_ns == process->key_ns)
		marker.values[BEFORE] =
			marker_text(before->name, strnlen(before->name, sizeof(before->name)));
	return marker_send_instant(pass, &marker, process->born_ns);
}

const struct marker_kind exec_markers = {
	.type = "Exec",
	.description = "The process runs another program from here on.",
	.table_label = "{marker.data.argv}",
	.chart_label = "{marker.data.argv}",
	.fields = fields,
	.field_count = FIELD_COUNT,
	.category = CATEGORY_OTHER,
	.send = send_exec,
};
