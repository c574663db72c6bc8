/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_rows.h - one thread's samples become rows, the same for every format.
 *
 * A sample's row has the CPU time that the thread used since the row before. If the thread was off the CPU for longer
 * than it was on it, the row says how long: where in between it ran is for the format to show. Rows that are no samples
 * count in no call tree; they are there so that the CPU graph is right:
 *
 *   baseline   when the thread is first known, with the CPU time it had used by then
 *   closing    if it has used CPU time since its last sample: when it had, with the stack of that sample; and one
 *              without a stack, which ends it
 *
 * A sleep has one row, or two if it takes more than an interval: where it begins, which weighs 1 and has the CPU time up
 * to there, and where it ends, which weighs all the rest. They are drawn up to the next row, with no CPU time.
 *
 * Neither time nor CPU time ever falls. Each returns 0 or the sink's error.
 */
#ifndef GECKOBPF_PROFILE_THREAD_ROWS_H
#define GECKOBPF_PROFILE_THREAD_ROWS_H

#include <stdint.h>

#include "profile/sink.h"

struct recording_facts;
struct sample_view;
struct thread;

/*
 * The thread, which `sink` knows, gets its baseline: that of thread->source. One that stands for several, one after the
 * other, begins and ends with each.
 */
int thread_rows_begin(struct profile_thread *thread, struct profile_sink *sink);
/* A sample whose stack has that number now; PROFILE_NO_STACK: it has none. */
int thread_rows_sample(struct profile_thread *thread, struct profile_sink *sink,
		       const struct sample_view *sample, uint32_t stack);
/* No samples after it. */
int thread_rows_end(struct profile_thread *thread, struct profile_sink *sink);

/* CPU time that the rows of a thread have if it has no samples. */
uint64_t thread_rows_cpu_ns(const struct thread *of, const struct recording_facts *facts,
			    const struct profile_filter *filter);

#endif
