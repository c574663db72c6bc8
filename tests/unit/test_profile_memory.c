/* SPDX-License-Identifier: BSD-2-Clause */
/* test_profile_memory.c - limit, cache and compressor together, as a recording has them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <sched.h>
#include <unistd.h>

#include "alloc.h"
#include "child.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"

#define LIMIT (16U << 20)
#define SAMPLES 20000
#define DEPTH 12

static int open_memory(struct profile_memory **memory, struct profile_buffer **buffer,
		       bool compresses)
{
	int err = profile_memory_open(
		memory,
		&(struct profile_memory_config){.max_bytes = LIMIT, .compresses = compresses});

	if (err)
		return err;
	return profile_buffer_open(
		buffer, &(struct profile_buffer_config){.memory = *memory, .period_ns = 1000000});
}

/* The leaf's address tells the sample's number. */
static int put_sample(struct profile_buffer *buffer, uint64_t number)
{
	struct frame frames[DEPTH];
	uint64_t n;

	for (n = 0; n < DEPTH; n++)
		frames[n] = (struct frame){.value = 0x400000 + n};
	frames[DEPTH - 1].value = 0x500000 + number;
	return profile_buffer_put_sample(buffer, &(struct sample_entry){
							 .weight = 1,
							 .time_ns = 1000000 * (number + 1),
							 .cpu_ns = 1000000 * number,
							 .frames = frames,
							 .frame_count = DEPTH,
						 });
}

struct reading {
	uint64_t leaf, samples, wrong;
};

static int on_restart(void *context)
{
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct reading *reading = context;

	reading->leaf = frame->value;
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct reading *reading = context;

	reading->wrong += reading->leaf != 0x500000 + reading->samples ||
			  sample->time_ns != 1000000 * (reading->samples + 1);
	reading->samples++;
	return 0;
}

static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};

/* 0: all samples are there. In a child as well, so without assertions. */
static int read_all(struct profile_buffer *buffer)
{
	struct reading reading = {0};

	if (profile_buffer_read(buffer, &visitor, &reading))
		return 1;
	return reading.samples == SAMPLES && !reading.wrong ? 0 : 2;
}

/* Puts all, and waits until at least one chunk is compressed, if anything is. */
static void fill(struct profile_memory *memory, struct profile_buffer *buffer, bool compresses)
{
	uint64_t number;

	for (number = 0; number < SAMPLES; number++)
		assert_int_equal(put_sample(buffer, number), 0);
	while (compresses && !profile_memory_get_stats(memory).compression.chunks)
		sched_yield();
}

static void close_memory(struct profile_memory *memory, struct profile_buffer *buffer)
{
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static void what_was_compressed_is_read_as_it_was_put(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct compressor_counts counts;

	assert_int_equal(open_memory(&memory, &buffer, true), 0);
	fill(memory, buffer, true);
	profile_memory_pause(memory);
	counts = profile_memory_get_stats(memory).compression;
	assert_true(counts.bytes_out < counts.bytes_in);
	assert_int_equal(profile_memory_get_stats(memory).chunks.compressed, counts.chunks);
	assert_int_equal(read_all(buffer), 0);
	profile_memory_resume(memory);
	close_memory(memory, buffer);
}

static void without_a_compressor_nothing_is_compressed(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;

	assert_int_equal(open_memory(&memory, &buffer, false), 0);
	fill(memory, buffer, false);
	profile_memory_pause(memory);
	assert_int_equal(profile_memory_get_stats(memory).compression.chunks, 0);
	assert_int_equal(profile_memory_get_stats(memory).chunks.compressed, 0);
	assert_int_equal(read_all(buffer), 0);
	profile_memory_resume(memory);
	close_memory(memory, buffer);
}

/* And the parent goes on. */
static void a_forked_child_reads_what_there_is(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	pid_t child;
	int status;

	assert_int_equal(open_memory(&memory, &buffer, true), 0);
	fill(memory, buffer, true);
	fflush(NULL);
	child = profile_memory_fork(memory);
	if (child == 0) {
		alarm(20);
		/* Nobody compresses here, so nothing is given out. */
		_exit(chunk_store_borrow(profile_memory_store(memory), false) ? 3
									      : read_all(buffer));
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(put_sample(buffer, SAMPLES), 0);
	close_memory(memory, buffer);
}

static int open_put_and_close(void *context)
{
	struct profile_memory *memory = NULL;
	struct profile_buffer *buffer = NULL;
	int err = open_memory(&memory, &buffer, context != NULL);

	if (!err)
		err = put_sample(buffer, 0);
	close_memory(memory, buffer);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	size_t count = alloc_fail_each(open_put_and_close, NULL);

	assert_true(count > 8);
	/* The compressor's codec comes on top. */
	assert_true(alloc_fail_each(open_put_and_close, &count) > count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_compressed_is_read_as_it_was_put),
		cmocka_unit_test(without_a_compressor_nothing_is_compressed),
		cmocka_unit_test(a_forked_child_reads_what_there_is),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
