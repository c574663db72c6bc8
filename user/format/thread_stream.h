/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_stream.h - one thread's samples become rows, and so do the stacks that it meets.
 *
 * A row is [stack,time,0,delta]: time in ms since the recording began, delta the CPU time in ns
 * since the row before. Rows without a stack (null) count in no call tree; they are there so that
 * the CPU graph is right:
 *
 *   baseline   when the thread is first known, with the CPU time it had used by then
 *   gap        where it came back onto the CPU, if that is more than an interval after the row
 *              before: it slept until then
 *   closing    at its end, if it has used CPU time since its last row
 */
#ifndef GECKOBPF_FORMAT_THREAD_STREAM_H
#define GECKOBPF_FORMAT_THREAD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/id_map.h"
#include "format/stacks.h"

struct json;
struct sample_view;
struct spool;
struct spool_pool;
struct thread;

/* All is borrowed. */
struct thread_stream_source {
	struct frames *frames;
	struct stacks *stacks;
	struct spool_pool *pool;
	uint64_t start_ns, end_ns, interval_ns;
	uint64_t lead_ns; /* start_ns is so long after the profile's time 0 */
	bool is_cut; /* start_ns is later than the recording's */
};

/* To be read by who writes the tables. */
struct thread_stream {
	struct thread_stream_source source;
	const struct thread *thread;
	struct spool *rows; /* of the table of samples: "[...],[...]" */
	struct spool *stack_rows; /* the same, of the table of stacks */
	uint32_t stack_count;
	struct stacks_user user; /* has the rows' numbers by stack */
	struct id_map frames; /* by location */
	struct {
		uint32_t *items; /* of each frame */
		size_t count, capacity;
	} locations;
	struct {
		uint32_t *items; /* stacks on the way to the root */
		size_t count, capacity;
	} pending;
	uint64_t time_ns, cpu_ns; /* of the last row, time since the recording began */
	uint64_t row_count;
	uint64_t sample_count; /* rows with a stack */
	uint64_t clamped_count; /* rows whose time would have gone backwards */
};

/* 0 or -ENOMEM. Writes the baseline. */
int thread_stream_open(struct thread_stream **out, const struct thread *thread,
		       const struct thread_stream_source *source);
void thread_stream_close(struct thread_stream *stream);

/* 0, -ENOMEM, -EBADMSG: the sample's stack is no node; -errno of the spool. */
int thread_stream_sample(struct thread_stream *stream, const struct sample_view *sample);

/* Writes the closing row: no samples after it. 0 or -errno of the spool. */
int thread_stream_finish(struct thread_stream *stream);

/*
 * Writes the members samples, markers, frameTable, stackTable and stringTable of an object that
 * is open. 0, -ENOMEM, -errno of the spool, or json's error.
 */
int thread_stream_write(struct thread_stream *stream, struct json *json);

#endif
