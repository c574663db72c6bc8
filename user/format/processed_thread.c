/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_thread.c - see processed_thread.h. */
#include "format/processed_thread.h"

#include <errno.h>
#include <stdlib.h>

#include "format/column.h"
#include "format/json.h"
#include "format/processed_code.h"
#include "format/processed_markers.h"
#include "format/spool.h"
#include "profile/model.h"

struct processed_thread {
	struct spool_pool *pool;
	struct spool *stacks, *times, *cpu;
	struct spool *weights; /* NULL: all weigh 1 so far */
	struct processed_markers *markers; /* NULL: none so far */
	uint64_t row_count;
	uint64_t time_ns; /* of the last row */
	uint32_t stack; /* the same */
	uint64_t cpu_ns;
};

int processed_thread_open(struct processed_thread **out, struct spool_pool *pool)
{
	struct processed_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	thread->pool = pool;
	thread->stack = PROCESSED_NONE;
	err = spool_open(&thread->stacks, pool);
	if (!err)
		err = spool_open(&thread->times, pool);
	if (!err)
		err = spool_open(&thread->cpu, pool);
	if (err) {
		processed_thread_close(thread);
		return err;
	}
	*out = thread;
	return 0;
}

void processed_thread_close(struct processed_thread *thread)
{
	if (!thread)
		return;
	spool_close(thread->stacks);
	spool_close(thread->times);
	spool_close(thread->cpu);
	spool_close(thread->weights);
	processed_markers_close(thread->markers);
	free(thread);
}

/* All rows so far weigh 1. */
static int open_weights(struct processed_thread *thread)
{
	uint64_t i;
	int err = spool_open(&thread->weights, thread->pool);

	for (i = 0; i < thread->row_count && !err; i++)
		err = column_put_u64(thread->weights, 1);
	return err;
}

/* A row as it is written. */
struct row {
	uint64_t time_ns, cpu_ns;
	uint32_t stack;
	int64_t weight;
};

/* A row without a stack is in no sum, whatever it weighs. */
static int put_weight(struct processed_thread *thread, const struct row *row)
{
	int err = 0;

	if (!thread->weights && (row->stack == PROCESSED_NONE || row->weight == 1))
		return 0;
	if (!thread->weights)
		err = open_weights(thread);
	return err ? err : column_put_i64(thread->weights, row->weight);
}

static int put_stack(struct processed_thread *thread, uint32_t stack)
{
	return stack == PROCESSED_NONE ? column_put_null(thread->stacks)
				       : column_put_u64(thread->stacks, stack);
}

static int put_row(struct processed_thread *thread, const struct row *row)
{
	int err = put_weight(thread, row);

	if (!err)
		err = put_stack(thread, row->stack);
	if (!err)
		err = column_put_time_ms(thread->times, (int64_t)(row->time_ns - thread->time_ns));
	if (!err)
		err = column_put_u64(thread->cpu, row->cpu_ns);
	thread->row_count++;
	thread->time_ns = row->time_ns;
	thread->stack = row->stack;
	thread->cpu_ns += row->cpu_ns;
	return err;
}

/*
 * It sleeps from the row before on, and its stack begins as long before the sample as it ran: both what is drawn up to
 * the next row and the CPU time are the stack's own.
 */
static int put_sleep(struct processed_thread *thread, const struct row *awake)
{
	const struct row asleep = {.time_ns = thread->time_ns, .stack = PROCESSED_NONE};
	const struct row back = {.time_ns = awake->time_ns - awake->cpu_ns, .stack = awake->stack};
	int err = thread->stack == PROCESSED_NONE ? 0 : put_row(thread, &asleep);

	return err || !awake->cpu_ns ? err : put_row(thread, &back);
}

int processed_thread_row(struct processed_thread *thread, const struct profile_row *of,
			 uint32_t stack)
{
	const struct row row = {
		.time_ns = of->time_ns,
		.cpu_ns = of->cpu_delta_ns == PROFILE_CPU_UNKNOWN ? 0 : of->cpu_delta_ns,
		.stack = of->stack == PROFILE_SAME_STACK ? thread->stack : stack,
		.weight = of->weight,
	};
	int err = of->slept_ns ? put_sleep(thread, &row) : 0;

	return err ? err : put_row(thread, &row);
}

int processed_thread_marker(struct processed_thread *thread, const struct profile_marker *marker,
			    uint32_t name, struct marker_text *text)
{
	int err = thread->markers ? 0 : processed_markers_open(&thread->markers, thread->pool);

	return err ? err : processed_markers_add(thread->markers, marker, name, text);
}

uint64_t processed_thread_cpu_ns(const struct processed_thread *thread)
{
	return thread->cpu_ns;
}

uint64_t processed_thread_bytes(const struct processed_thread *thread)
{
	return spool_bytes(thread->stacks) + spool_bytes(thread->times) + spool_bytes(thread->cpu) +
	       (thread->weights ? spool_bytes(thread->weights) : 0);
}

int processed_thread_write(struct processed_thread *thread, struct json *json)
{
	int err;

	json_object_begin(json);
	err = column_write(thread->stacks, json, "stack");
	if (!err)
		err = column_write(thread->times, json, "timeDeltas");
	if (!err)
		err = column_write(thread->cpu, json, "threadCPUDelta");
	if (!err && thread->weights)
		err = column_write(thread->weights, json, "weight");
	else
		json_key_literal(json, "weight", "null");
	json_key_string(json, "weightType", "samples");
	json_key_u64(json, "length", thread->row_count);
	json_object_end(json);
	return err;
}

int processed_thread_write_markers(struct processed_thread *thread, struct json *json)
{
	return processed_markers_write(thread->markers, json);
}
