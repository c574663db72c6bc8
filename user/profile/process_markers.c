/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_markers.c - "Process": the life of each process that descends from one, on its track: a chart of a build.
 *
 * It stands on the nearest ancestor that has a track (family.h). A process is all of its images: it is called what the
 * last one is.
 */
#include "profile/marker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "profile/family.h"
#include "profile/process_name.h"
#include "target/process.h"

enum { ARGV, PID, STATUS, CPU, MAX_RSS, FIELD_COUNT };

static const struct marker_field fields[FIELD_COUNT] = {
	[ARGV] = {"argv", "Command", MARKER_STRING},
	[PID] = {"pid", "Process", MARKER_PROCESS},
	[STATUS] = {"status", "Exit status", MARKER_STRING},
	[CPU] = {"cpu", "CPU time", MARKER_DURATION},
	[MAX_RSS] = {"maxRSS", "Peak memory (RSS)", MARKER_BYTES},
};

#define STATUS_BYTES 32

/* "0", "1", "signal 11 (SEGV)". */
static const char *status_text(const struct process_end *end, char text[STATUS_BYTES])
{
	int status = end->status, number = WTERMSIG(status);
	const char *name = sigabbrev_np(number);

	if (!end->is_known)
		return NULL;
	if (WIFEXITED(status))
		snprintf(text, STATUS_BYTES, "%d", WEXITSTATUS(status));
	else if (name)
		snprintf(text, STATUS_BYTES, "signal %d (%s)", number, name);
	else
		snprintf(text, STATUS_BYTES, "signal %d", number);
	return text;
}

/* Threads keep what they used before an exec. */
static uint64_t cpu_ns(const struct process *process)
{
	uint64_t sum_ns = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		sum_ns += process->threads.items[i]->cpu_last_ns;
	return sum_ns;
}

static int send_process(const struct marker_pass *pass, const struct family_member *member)
{
	const struct process *process = member->process;
	struct profile_marker marker = {
		.kind = &process_markers,
		.name = process->name,
		.name_length = strnlen(process->name, sizeof(process->name)),
	};
	char status_room[STATUS_BYTES], *argv;
	const char *status = status_text(&process->end, status_room);
	size_t length;
	int err = process_name_make(process, pass->process->facts->include_args, &argv, &length);

	if (err)
		return err;
	marker.values[ARGV] = marker_text(argv, length);
	marker.values[PID] = (struct marker_value){.is_known = true, .process = process};
	marker.values[STATUS] = marker_text(status, status ? strlen(status) : 0);
	marker.values[CPU] = marker_number(cpu_ns(process));
	if (process->end.max_rss_bytes)
		marker.values[MAX_RSS] = marker_number(process->end.max_rss_bytes);
	err = marker_send_span(pass, &marker, member->born_ns, process->died_ns);
	free(argv);
	return err;
}

static int send_processes(const struct marker_pass *pass)
{
	size_t count, i;
	const struct family_member *members =
		family_of(pass->family, pass->process->process, &count);
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = send_process(pass, &members[i]);
	return err;
}

const struct marker_kind process_markers = {
	.type = "Process",
	.description = "A process that descends from this one, from its fork to its end.",
	.table_label =
		"{marker.data.argv} ({marker.data.pid}){marker.data.status ? ', status ' : ''}"
		"{marker.data.status}",
	.chart_label = "{marker.data.argv}",
	.fields = fields,
	.field_count = FIELD_COUNT,
	.category = CATEGORY_OTHER,
	.send = send_processes,
};
