/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_stream.c - see thread_stream.h.
 *
 * Most samples are at a leaf that the thread has met before: one look into the stack map, one
 * row. Otherwise the walk goes up to the first node that has a stack, and comes back down adding
 * stacks, so that parents precede children.
 */
#include "gecko/thread_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "buffer/profile_buffer.h"
#include "gecko/frames.h"
#include "gecko/number.h"
#include "gecko/spool.h"
#include "target/process.h"

#define ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + NUMBER_TIME_MAX_BYTES + sizeof(",[,,0,]"))

/* ---- rows ---------------------------------------------------------------------------- */

static uint64_t since_start(const struct thread_stream *stream, uint64_t time_ns)
{
	return time_ns > stream->source.start_ns ? time_ns - stream->source.start_ns : 0;
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
	if (stack == UNIQUE_NONE)
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
	return put_row(stream, UNIQUE_NONE, since_start(stream, thread->born_ns),
		       thread->cpu_first_ns);
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
	return put_row(stream, UNIQUE_NONE, came_ns, cpu_ns);
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
	return put_row(stream, UNIQUE_NONE, since_start(stream, end_ns), thread->cpu_last_ns);
}

/* ---- stacks -------------------------------------------------------------------------- */

static int make_stack(struct thread_stream *stream, uint64_t key, uint32_t *stack)
{
	struct thread_stacks *stacks = &stream->stacks;
	uint32_t frame;
	int err = unique_add(&stream->frames, (uint32_t)key, &frame);

	if (!err)
		err = ARRAY_ROOM(stacks);
	if (!err)
		err = unique_add(&stream->stack_keys, key, stack);
	if (!err)
		stacks->items[stacks->count++] = (struct thread_stack){.frame = frame};
	return err;
}

/* The stack of `location` called by `prefix`: most often the one that was made right after that. */
static int add_stack(struct thread_stream *stream, uint32_t prefix, uint32_t location,
		     uint32_t *stack)
{
	uint64_t key = (uint64_t)prefix << 32 | location;
	size_t next = prefix == UNIQUE_NONE ? 0 : (size_t)prefix + 1;

	if (next < stream->stack_keys.count && stream->stack_keys.keys[next] == key) {
		*stack = (uint32_t)next;
		return 0;
	}
	return unique_find(&stream->stack_keys, key, stack) ? 0 : make_stack(stream, key, stack);
}

/*
 * Adds a node's stack to that of its prefix, which is *stack (UNIQUE_NONE: it is a root), and
 * makes it *stack.
 */
static int add_node(struct thread_stream *stream, uint32_t number, bool is_leaf, uint32_t *stack)
{
	struct frames *frames = stream->source.frames;
	const struct frame_node *node = frames_node(frames, number);
	uint32_t location;
	int err = frames_locate(frames, node, is_leaf, &location);

	if (!err)
		err = add_stack(stream, *stack, location, stack);
	return err ? err : stack_map_put(&stream->map, number, is_leaf, *stack);
}

static int push_pending(struct thread_stream *stream, uint32_t node, bool is_leaf)
{
	int err = ARRAY_ROOM(&stream->pending);

	if (!err)
		stream->pending.items[stream->pending.count++] = node << 1 | is_leaf;
	return err;
}

/*
 * Goes up from a leaf to the first node that has a stack, or past the root. A user frame right
 * below the kernel's is a leaf as well: it was interrupted there.
 */
static int collect_pending(struct thread_stream *stream, uint32_t node, uint32_t *stack)
{
	const struct frames *frames = stream->source.frames;
	const struct frame_node *at = frames_node(frames, node), *prefix;
	bool is_leaf = true;
	int err = at && node < 1U << 31 ? 0 : -EBADMSG;

	stream->pending.count = 0;
	*stack = UNIQUE_NONE;
	while (!err) {
		*stack = stack_map_get(&stream->map, node, is_leaf);
		if (*stack != UNIQUE_NONE)
			break;
		err = push_pending(stream, node, is_leaf);
		if (at->prefix == STACK_NODE_NONE)
			break;
		prefix = frames_node(frames, at->prefix);
		is_leaf = at->is_kernel && !prefix->is_kernel;
		node = at->prefix;
		at = prefix;
	}
	return err;
}

/* The stack of a node that was not met as a leaf so far. */
static int climb(struct thread_stream *stream, uint32_t node, uint32_t *stack)
{
	int err = collect_pending(stream, node, stack);

	while (!err && stream->pending.count) {
		uint32_t next = stream->pending.items[--stream->pending.count];

		err = add_node(stream, next >> 1, next & 1, stack);
	}
	return err;
}

int thread_stream_sample(struct thread_stream *stream, const struct sample_view *sample)
{
	uint32_t stack = UNIQUE_NONE;
	int err = 0;

	stream->map.epoch = frames_epoch(stream->source.frames);
	if (sample->stack != STACK_NODE_NONE) {
		stack = stack_map_get(&stream->map, sample->stack, true);
		if (stack == STACK_MAP_NONE)
			err = climb(stream, sample->stack, &stack);
		if (err)
			return err;
		stream->stacks.items[stack].self_samples++;
		stream->sample_count++;
	}
	err = put_gap(stream, sample);
	return err ? err
		   : put_row(stream, stack, since_start(stream, sample->time_ns), sample->cpu_ns);
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
	err = spool_open(&stream->rows, source->pool);
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
	unique_clear(&stream->frames);
	unique_clear(&stream->stack_keys);
	stack_map_clear(&stream->map);
	free(stream->stacks.items);
	free(stream->pending.items);
	free(stream);
}
