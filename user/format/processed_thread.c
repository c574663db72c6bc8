/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_thread.c - see processed_thread.h. */
#include "format/processed_thread.h"

#include <errno.h>
#include <stdlib.h>

#include "format/column.h"
#include "format/json.h"
#include "format/processed_code.h"
#include "format/spool.h"
#include "profile/model.h"

struct processed_thread {
	struct spool_pool *pool;
	struct spool *stacks, *times, *cpu;
	struct spool *weights; /* NULL: all weigh 1 so far */
	uint64_t row_count;
	uint64_t time_ns; /* of the last row */
	uint64_t cpu_ns;
};

int processed_thread_open(struct processed_thread **out, struct spool_pool *pool)
{
	struct processed_thread *thread = calloc(1, sizeof(*thread));
	int err;

	if (!thread)
		return -ENOMEM;
	thread->pool = pool;
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

/* A row without a stack is in no sum, whatever it weighs. */
static int put_weight(struct processed_thread *thread, const struct profile_row *row)
{
	int err = 0;

	if (!thread->weights && (row->stack == PROFILE_NO_STACK || row->weight == 1))
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

int processed_thread_row(struct processed_thread *thread, const struct profile_row *row,
			 uint32_t stack)
{
	uint64_t cpu_ns = row->cpu_delta_ns == PROFILE_CPU_UNKNOWN ? 0 : row->cpu_delta_ns;
	int err = put_weight(thread, row);

	if (!err)
		err = put_stack(thread, stack);
	if (!err)
		err = column_put_time_ms(thread->times, (int64_t)(row->time_ns - thread->time_ns));
	if (!err)
		err = column_put_u64(thread->cpu, cpu_ns);
	thread->row_count++;
	thread->time_ns = row->time_ns;
	thread->cpu_ns += cpu_ns;
	return err;
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
