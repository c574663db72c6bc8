/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_stream.c - see thread_stream.h.
 *
 * Most samples have a stack that the thread has met before: one look into stacks, one into the thread's numbers, one row.
 */
#include "format/thread_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "buffer/profile_buffer.h"
#include "base/number.h"
#include "format/spool.h"
#include "target/process.h"

#define ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + NUMBER_TIME_MAX_BYTES + sizeof(",[,,0,]"))
#define STACK_ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + sizeof(",[,]"))

/* ---- rows ---------------------------------------------------------------------------- */

static uint64_t since_start(const struct thread_stream *stream, uint64_t time_ns)
{
	const struct thread_stream_source *source = &stream->source;

	return source->lead_ns + (time_ns > source->start_ns ? time_ns - source->start_ns : 0);
}

/* Writes a row that brings the thread's CPU time to `cpu_ns`. It never falls; nor does time. */
static int put_row(struct thread_stream *stream, uint32_t stack, uint64_t time_ns, uint64_t cpu_ns)
{
	char *start = spool_room(stream->rows, ROW_MAX_BYTES), *at = start;
	uint64_t delta = 0;

	if (!start)
		return spool_error(stream->rows);
	if (time_ns < stream->time_ns) {
		time_ns = stream->time_ns;
		stream->clamped_count++;
	}
	if (stream->row_count && cpu_ns > stream->cpu_ns)
		delta = cpu_ns - stream->cpu_ns;
	if (stream->row_count++)
		*at++ = ',';
	*at++ = '[';
	if (stack == ID_NONE)
		at = mempcpy(at, "null", 4);
	else
		at = number_put_u64(at, stack);
	*at++ = ',';
	at = number_put_time_ms(at, (int64_t)time_ns);
	at = mempcpy(at, ",0,", 3);
	at = number_put_u64(at, delta);
	*at++ = ']';
	spool_advance(stream->rows, (size_t)(at - start));
	stream->time_ns = time_ns;
	if (cpu_ns > stream->cpu_ns)
		stream->cpu_ns = cpu_ns;
	return 0;
}

static int put_baseline(struct thread_stream *stream)
{
	const struct thread *thread = stream->thread;

	if (thread->cpu_first_ns == UINT64_MAX)
		return 0;
	/* What it had used when the recording began says nothing of when this profile does. */
	if (stream->source.is_cut && thread->born_ns < stream->source.start_ns)
		return 0;
	return put_row(stream, ID_NONE, since_start(stream, thread->born_ns), thread->cpu_first_ns);
}

static int put_gap(struct thread_stream *stream, const struct sample_view *sample)
{
	uint64_t came_ns, cpu_ns;

	if (!sample->run_ns || sample->run_ns > sample->time_ns || !stream->row_count)
		return 0;
	came_ns = since_start(stream, sample->time_ns - sample->run_ns);
	if (came_ns < stream->time_ns || came_ns - stream->time_ns <= stream->source.interval_ns)
		return 0;
	cpu_ns = sample->cpu_ns > sample->run_ns ? sample->cpu_ns - sample->run_ns : 0;
	return put_row(stream, ID_NONE, came_ns, cpu_ns);
}

int thread_stream_finish(struct thread_stream *stream)
{
	const struct thread *thread = stream->thread;
	uint64_t end_ns = stream->source.end_ns;

	if (!stream->row_count || thread->cpu_last_ns <= stream->cpu_ns)
		return 0;
	if (thread->process->died_ns && thread->process->died_ns < end_ns)
		end_ns = thread->process->died_ns;
	if (thread->died_ns && thread->died_ns < end_ns)
		end_ns = thread->died_ns;
	return put_row(stream, ID_NONE, since_start(stream, end_ns), thread->cpu_last_ns);
}

/* ---- stacks -------------------------------------------------------------------------- */

/* A row of the table of stacks. The row of the prefix is number `prefix`; ID_NONE: it is a root. */
static int put_stack_row(struct thread_stream *stream, uint32_t prefix, uint32_t frame)
{
	char *start = spool_room(stream->stack_rows, STACK_ROW_MAX_BYTES), *at = start;

	if (!start)
		return spool_error(stream->stack_rows);
	if (stream->stack_count)
		*at++ = ',';
	*at++ = '[';
	if (prefix == ID_NONE)
		at = mempcpy(at, "null", 4);
	else
		at = number_put_u64(at, prefix);
	*at++ = ',';
	at = number_put_u64(at, frame);
	*at++ = ']';
	spool_advance(stream->stack_rows, (size_t)(at - start));
	return 0;
}

static int make_frame(struct thread_stream *stream, uint32_t location, uint32_t *frame)
{
	int err = ARRAY_ROOM(&stream->locations);

	if (!err)
		err = id_map_put(&stream->frames, location, (uint32_t)stream->locations.count);
	if (err)
		return err;
	*frame = (uint32_t)stream->locations.count;
	stream->locations.items[stream->locations.count++] = location;
	return 0;
}

/* The thread's number of a location. */
static int find_frame(struct thread_stream *stream, uint32_t location, uint32_t *frame)
{
	*frame = id_map_get(&stream->frames, location);
	return *frame == ID_NONE ? make_frame(stream, location, frame) : 0;
}

/* Adds a stack whose prefix has row *row (ID_NONE: it is a root), and puts its own there. */
static int add_stack(struct thread_stream *stream, uint32_t stack, uint32_t *row)
{
	uint32_t location = stacks_at(stream->source.stacks, stack).location, frame;
	int err = find_frame(stream, location, &frame);

	if (!err && stream->stack_count == ID_NONE)
		err = -E2BIG;
	if (!err)
		err = put_stack_row(stream, *row, frame);
	if (!err)
		err = stacks_give_id(stream->source.stacks, &stream->user, stack,
				     stream->stack_count);
	if (!err)
		*row = stream->stack_count++;
	return err;
}

static int push_pending(struct thread_stream *stream, uint32_t stack)
{
	int err = ARRAY_ROOM(&stream->pending);

	if (!err)
		stream->pending.items[stream->pending.count++] = stack;
	return err;
}

/* The row of a stack that this thread has not met so far: up to the first that it has, and down again. */
static int make_rows(struct thread_stream *stream, uint32_t stack, uint32_t *row)
{
	int err = 0;

	stream->pending.count = 0;
	*row = ID_NONE;
	while (!err && stack != STACKS_NONE) {
		*row = id_map_get(&stream->user.ids, stack);
		if (*row != ID_NONE)
			break;
		err = push_pending(stream, stack);
		stack = stacks_at(stream->source.stacks, stack).prefix;
	}
	while (!err && stream->pending.count)
		err = add_stack(stream, stream->pending.items[--stream->pending.count], row);
	return err;
}

static int find_row(struct thread_stream *stream, const struct sample_view *sample, uint32_t *row)
{
	uint32_t stack;
	int err = stacks_find(stream->source.stacks, sample->stack, sample->time_ns, &stack);

	if (err)
		return err;
	stream->sample_count++;
	*row = id_map_get(&stream->user.ids, stack);
	return *row == ID_NONE ? make_rows(stream, stack, row) : 0;
}

int thread_stream_sample(struct thread_stream *stream, const struct sample_view *sample)
{
	uint32_t row = ID_NONE;
	int err = 0;

	if (sample->stack != STACK_NODE_NONE)
		err = find_row(stream, sample, &row);
	if (!err)
		err = put_gap(stream, sample);
	return err ? err
		   : put_row(stream, row, since_start(stream, sample->time_ns), sample->cpu_ns);
}

/* ---- opening --------------------------------------------------------------------------- */

int thread_stream_open(struct thread_stream **out, const struct thread *thread,
		       const struct thread_stream_source *source)
{
	struct thread_stream *stream = calloc(1, sizeof(*stream));
	int err;

	if (!stream)
		return -ENOMEM;
	stream->source = *source;
	stream->thread = thread;
	stacks_join(source->stacks, &stream->user);
	err = spool_open(&stream->rows, source->pool);
	if (!err)
		err = spool_open(&stream->stack_rows, source->pool);
	if (!err)
		err = put_baseline(stream);
	if (err) {
		thread_stream_close(stream);
		return err;
	}
	*out = stream;
	return 0;
}

void thread_stream_close(struct thread_stream *stream)
{
	if (!stream)
		return;
	spool_close(stream->rows);
	spool_close(stream->stack_rows);
	stacks_leave(&stream->user);
	id_map_clear(&stream->frames);
	free(stream->locations.items);
	free(stream->pending.items);
	free(stream);
}
