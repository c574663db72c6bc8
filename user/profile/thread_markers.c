/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_markers.c - "Thread": the life of each thread that began or ended while it was recorded, on the process's
 * first thread.
 */
#include "profile/marker.h"

#include <string.h>

#include "target/process.h"

enum { NAME, TID, CPU, FIELD_COUNT };

static const struct marker_field fields[FIELD_COUNT] = {
	[NAME] = {"threadName", "Thread", MARKER_STRING},
	[TID] = {"tid", "Thread id", MARKER_TID},
	[CPU] = {"cpu", "CPU time", MARKER_DURATION},
};

static int send_thread(const struct marker_pass *pass, const struct thread *thread)
{
	uint64_t died_ns = thread->died_ns ? thread->died_ns : thread->process->died_ns;
	struct profile_marker marker = {
		.kind = &thread_markers, .name = "Thread", .name_length = strlen("Thread")};

	/* What was there all the time is no event. The first thread is the process. */
	if (thread->tid == thread->process->tgid || (!thread->born_ns && !thread->died_ns))
		return 0;
	marker.values[NAME] =
		marker_text(thread->name, strnlen(thread->name, sizeof(thread->name)));
	marker.values[TID] = marker_number(thread->tid);
	marker.values[CPU] = marker_number(thread->cpu_last_ns);
	return marker_send_span(pass, &marker, thread->born_ns, died_ns);
}

static int send_threads(const struct marker_pass *pass)
{
	const struct threads *threads = &pass->process->process->threads;
	size_t i;
	int err = 0;

	for (i = 0; i < threads->count && !err; i++)
		err = send_thread(pass, threads->items[i]);
	return err;
}

const struct marker_kind thread_markers = {
	.type = "Thread",
	.description = "A thread of this process, from its begin to its end.",
	.table_label = "{marker.data.threadName} ({marker.data.tid})",
	.chart_label = "{marker.data.threadName}",
	.fields = fields,
	.field_count = FIELD_COUNT,
	.category = CATEGORY_OTHER,
	.send = send_threads,
};
