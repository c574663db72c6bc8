/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_profile_buffer.c - recordings of several processes under one limit, against a list of what
 * was put.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "frames.h"

#define CHUNK 512
#define DEPTH 24
#define LOG_MAX 8000
#define NODES_MAX 2000

/* What was put, in order. */
struct put_sample {
	struct sample_entry entry;
	struct frame frames[DEPTH];
};

struct put_log {
	struct put_sample items[LOG_MAX];
	size_t count;
};

/* Reads a buffer and compares it with the log from item `at` on. */
struct comparison {
	const struct put_log *log;
	size_t at;
	size_t restarts;
	uint32_t node_count;
	struct {
		struct frame frame;
		uint32_t prefix;
	} nodes[NODES_MAX];
};

static int on_restart(void *context)
{
	struct comparison *comparison = context;

	comparison->restarts++;
	comparison->node_count = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct comparison *comparison = context;

	assert_true(comparison->restarts > 0);
	assert_int_equal(node, comparison->node_count++);
	assert_true(prefix == STACK_NODE_NONE || prefix < node);
	assert_true(node < NODES_MAX);
	comparison->nodes[node].frame = *frame;
	comparison->nodes[node].prefix = prefix;
	return 0;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct comparison *comparison = context;
	const struct put_sample *put = &comparison->log->items[comparison->at++];
	uint32_t n = put->entry.frame_count, node = sample->stack;

	assert_true(comparison->at <= comparison->log->count);
	assert_int_equal(sample->thread, put->entry.thread);
	assert_int_equal(sample->user_end, put->entry.user_end);
	assert_int_equal(sample->time_ns, put->entry.time_ns);
	assert_in_range(put->entry.cpu_ns - sample->cpu_ns, 0, 999);
	if (sample->run_ns)
		assert_int_equal(sample->run_ns, (put->entry.run_ns + 999) / 1000 * 1000);
	while (n--) {
		assert_true(node < comparison->node_count);
		assert_true(frame_equals(&comparison->nodes[node].frame, &put->frames[n]));
		node = comparison->nodes[node].prefix;
	}
	assert_int_equal(node, STACK_NODE_NONE);
	return 0;
}

static const struct profile_visitor comparing = {on_restart, on_node, on_sample, NULL};

/* All that is readable is the end of what was put. Returns how often node numbers started over. */
static size_t assert_readable(struct profile_buffer *buffer, const struct put_log *log)
{
	struct profile_buffer_state now = profile_buffer_get_state(buffer);
	static struct comparison comparison;

	memset(&comparison, 0, sizeof(comparison));
	comparison.log = log;
	assert_int_equal(now.pushed, log->count);
	comparison.at = (size_t)now.cleared;
	assert_int_equal(profile_buffer_read(buffer, &comparing, &comparison), 0);
	assert_int_equal(profile_buffer_get_state(buffer).damaged, 0);
	assert_int_equal(comparison.at, log->count);
	return comparison.restarts;
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

static void random_stack(struct put_sample *put, uint32_t *random)
{
	uint32_t count = next_random(random) % DEPTH, n;
	uint32_t kernel = count ? next_random(random) % count / 4 : 0;

	for (n = 0; n < count; n++)
		put->frames[n] = (struct frame){
			.value = 0x7f00aa000000 + n * 65536 + next_random(random) % 2 * 4096,
			.kind = n < count - kernel ? GB_FRAME_USER : GB_FRAME_KERNEL};
	put->entry.frame_count = count;
}

/* Puts a sample much like one of a program with a few threads; logs it when it was taken. */
static int put_random(struct profile_buffer *buffer, struct put_log *log, uint32_t *random)
{
	struct put_sample *put = &log->items[log->count];
	int err;

	assert_true(log->count < LOG_MAX);
	put->entry = (struct sample_entry){
		.weight = 1,
		.thread = next_random(random) % 5,
		.user_end = next_random(random) % 20 ? 1 : 3,
		.time_ns = 1000000000 + log->count * 1000000 + next_random(random) % 5000,
		.cpu_ns = log->count * 400000,
		.run_ns = next_random(random) % 3 ? 0 : next_random(random),
	};
	if (log->count > 9 && next_random(random) % 4) {
		const struct put_sample *old = put - 1 - next_random(random) % 8;

		memcpy(put->frames, old->frames, sizeof(put->frames));
		put->entry.frame_count = old->entry.frame_count;
	} else {
		random_stack(put, random);
	}
	put->entry.frames = put->frames;
	err = profile_buffer_put_sample(buffer, &put->entry);
	put->entry.frames = NULL;
	log->count += !err;
	return err;
}

static struct put_log logs[3];
static size_t cache_bytes;

static int use_cache(void **state)
{
	cache_bytes = 1 << 18;
	return 0;
}

/* It keeps next to nothing of what it is told. */
static int use_tiny_cache(void **state)
{
	cache_bytes = 256;
	return 0;
}

static int open_memory(struct profile_memory **memory, uint64_t max_bytes)
{
	const struct profile_memory_config config = {
		.max_bytes = max_bytes,
		.cache_bytes = cache_bytes,
		.chunk_first_bytes = CHUNK,
		.chunk_max_bytes = CHUNK,
	};

	return profile_memory_open(memory, &config);
}

static int open_buffer(struct profile_buffer **buffer, struct profile_memory *memory,
		       uint32_t process_id)
{
	const struct profile_buffer_config config = {memory, process_id, 1000000};

	return profile_buffer_open(buffer, &config);
}

static void open_with_limit(uint64_t max_bytes, struct profile_memory **memory,
			    struct profile_buffer **buffer)
{
	memset(logs, 0, sizeof(logs));
	assert_int_equal(open_memory(memory, max_bytes), 0);
	assert_int_equal(open_buffer(buffer, *memory, 42), 0);
}

static void a_new_buffer_is_empty_and_holds_no_chunk(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct profile_buffer_state now;

	open_with_limit(100 * CHUNK, &memory, &buffer);
	assert_int_equal(assert_readable(buffer, &logs[0]), 0);
	now = profile_buffer_get_state(buffer);
	assert_int_equal(now.range_start, 1);
	assert_int_equal(now.range_end, 1);
	assert_int_equal(now.failed, 0);
	assert_int_equal(profile_memory_get_stats(memory).chunks.made, 0);
	profile_buffer_close(buffer);
	profile_buffer_close(NULL);
	profile_memory_close(memory);
}

static void samples_come_back_in_order(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	uint32_t random = 1;
	size_t n;

	open_with_limit(10000 * CHUNK, &memory, &buffer);
	for (n = 0; n < 2000; n++) {
		assert_int_equal(put_random(buffer, &logs[0], &random), 0);
		if (n % 100 == 0)
			assert_readable(buffer, &logs[0]);
	}
	assert_int_equal(profile_buffer_get_state(buffer).cleared, 0);
	/* Once in each chunk, and at no other place. */
	assert_int_equal(assert_readable(buffer, &logs[0]),
			 profile_memory_get_stats(memory).chunks.made);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static void every_state_of_being_overwritten_is_readable(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct profile_buffer_state now;
	uint32_t random = 2;
	size_t n;

	open_with_limit(6 * CHUNK, &memory, &buffer);
	for (n = 0; n < 3000; n++) {
		assert_int_equal(put_random(buffer, &logs[0], &random), 0);
		assert_readable(buffer, &logs[0]);
	}
	now = profile_buffer_get_state(buffer);
	assert_true(now.cleared > 2000 && now.cleared < 3000);
	assert_true(now.range_end - now.range_start <= 6 * CHUNK);
	assert_int_equal(now.failed, 0);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static void processes_share_one_limit_and_all_stay_readable(void **state)
{
	struct profile_memory *memory;
	struct chunk_store_stats stats;
	struct profile_buffer *buffers[3];
	uint32_t random = 3;
	size_t n, i;

	open_with_limit(12 * CHUNK, &memory, &buffers[0]);
	for (i = 1; i < 3; i++)
		assert_int_equal(open_buffer(&buffers[i], memory, 42 + (uint32_t)i), 0);
	/* The last process falls silent half-way; the others then take all the room. */
	for (n = 0; n < 6000; n++) {
		i = next_random(&random) % (n < 3000 ? 3 : 2);
		assert_int_equal(put_random(buffers[i], &logs[i], &random), 0);
		stats = profile_memory_get_stats(memory).chunks;
		assert_true(stats.released_bytes + stats.unreleased_bytes <= 12 * CHUNK);
		assert_readable(buffers[n % 3], &logs[n % 3]);
	}
	for (i = 0; i < 3; i++) {
		assert_true(profile_buffer_get_state(buffers[i]).cleared > 0);
		assert_readable(buffers[i], &logs[i]);
	}
	/* Of the silent one only the chunk in use is left. */
	assert_true(logs[2].count - profile_buffer_get_state(buffers[2]).cleared < CHUNK / 5);
	profile_buffer_close(buffers[1]);
	assert_readable(buffers[0], &logs[0]);
	profile_buffer_close(buffers[0]);
	profile_buffer_close(buffers[2]);
	profile_memory_close(memory);
}

static void a_sample_of_too_many_frames_is_refused_and_counted(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct profile_buffer_state now;
	struct frame frames[SAMPLE_MAX_FRAMES + 1] = {0};
	struct sample_entry large = {
		.weight = 1, .frames = frames, .frame_count = SAMPLE_MAX_FRAMES + 1};
	uint32_t random = 4;
	size_t n;

	open_with_limit(100 * CHUNK, &memory, &buffer);
	for (n = 0; n < 300; n++) {
		assert_int_equal(put_random(buffer, &logs[0], &random), 0);
		if (n % 10 == 9)
			assert_int_equal(profile_buffer_put_sample(buffer, &large), -E2BIG);
	}
	now = profile_buffer_get_state(buffer);
	assert_int_equal(now.failed, 30);
	assert_int_equal(now.pushed, 300);
	assert_readable(buffer, &logs[0]);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static int restart_count(void *context)
{
	return 0;
}

static int add_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	size_t *nodes = context;

	assert_int_equal(frame->value, 0x1000 + (*nodes)++ * 0x123457);
	return 0;
}

static int is_leaf_last(void *context, const struct sample_view *sample)
{
	assert_int_equal(sample->stack, SAMPLE_MAX_FRAMES - 1);
	return 0;
}

/* The deepest stack there is takes many times what a chunk of this buffer has. */
static void an_entry_larger_than_a_chunk_is_kept(void **state)
{
	const struct profile_visitor visitor = {restart_count, add_node, is_leaf_last, NULL};
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct frame frames[SAMPLE_MAX_FRAMES];
	struct sample_entry large = {
		.weight = 1, .frames = frames, .frame_count = SAMPLE_MAX_FRAMES};
	size_t n, nodes = 0;

	open_with_limit(100 * CHUNK, &memory, &buffer);
	for (n = 0; n < SAMPLE_MAX_FRAMES; n++)
		frames[n] = (struct frame){.value = 0x1000 + n * 0x123457};
	assert_int_equal(profile_buffer_put_sample(buffer, &large), 0);
	assert_true(profile_buffer_get_state(buffer).range_end > 4 * CHUNK);
	assert_int_equal(profile_buffer_read(buffer, &visitor, &nodes), 0);
	assert_int_equal(nodes, SAMPLE_MAX_FRAMES);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static void a_sample_lost_for_want_of_memory_harms_no_other(void **state)
{
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	struct profile_buffer_state now;
	uint32_t random = 5;
	size_t failed = 0, n;

	open_with_limit(10000 * CHUNK, &memory, &buffer);
	for (n = 0; n < 4000; n++) {
		bool hit;
		int err;

		alloc_fail_at(n % 7 ? 0 : 1 + n % 3);
		err = put_random(buffer, &logs[0], &random);
		hit = alloc_fail_stop();
		assert_int_equal(err, hit ? -ENOMEM : 0);
		failed += hit;
		if (hit)
			assert_readable(buffer, &logs[0]);
	}
	now = profile_buffer_get_state(buffer);
	assert_true(failed > 5);
	assert_int_equal(now.failed, failed);
	assert_int_equal(now.pushed, 4000 - failed);
	assert_readable(buffer, &logs[0]);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static int stop_at_once(void *context, const struct sample_view *sample)
{
	return ++*(int *)context == 3 ? -77 : 0;
}

static int ignore_restart(void *context)
{
	return 0;
}

static int ignore_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static void a_visitor_can_end_the_reading(void **state)
{
	const struct profile_visitor visitor = {ignore_restart, ignore_node, stop_at_once, NULL};
	struct profile_memory *memory;
	struct profile_buffer *buffer;
	uint32_t random = 6;
	int samples = 0, n;

	open_with_limit(100 * CHUNK, &memory, &buffer);
	for (n = 0; n < 10; n++)
		assert_int_equal(put_random(buffer, &logs[0], &random), 0);
	assert_int_equal(profile_buffer_read(buffer, &visitor, &samples), -77);
	assert_int_equal(samples, 3);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
}

static int put_and_read(void *context)
{
	const struct profile_visitor visitor = {ignore_restart, ignore_node, stop_at_once, NULL};
	struct profile_memory *memory = NULL;
	struct profile_buffer *buffer = NULL;
	uint32_t random = 7, n;
	int samples = 100, err;

	memset(logs, 0, sizeof(logs));
	err = open_memory(&memory, 100 * CHUNK);
	if (!err)
		err = open_buffer(&buffer, memory, 42);
	for (n = 0; n < 200 && !err; n++)
		err = put_random(buffer, &logs[0], &random);
	if (!err)
		err = profile_buffer_read(buffer, &visitor, &samples);
	profile_buffer_close(buffer);
	profile_memory_close(memory);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	assert_true(alloc_fail_each(put_and_read, NULL) > 10);
}

#define CACHE_TEST(f) cmocka_unit_test_setup(f, use_cache)
#define TINY_CACHE_TEST(f)                                                                         \
	{                                                                                          \
		"tiny_cache_" #f, f, use_tiny_cache, NULL, NULL                                    \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(a_new_buffer_is_empty_and_holds_no_chunk),
		CACHE_TEST(samples_come_back_in_order),
		CACHE_TEST(every_state_of_being_overwritten_is_readable),
		CACHE_TEST(processes_share_one_limit_and_all_stay_readable),
		CACHE_TEST(a_sample_of_too_many_frames_is_refused_and_counted),
		CACHE_TEST(an_entry_larger_than_a_chunk_is_kept),
		CACHE_TEST(a_sample_lost_for_want_of_memory_harms_no_other),
		CACHE_TEST(a_visitor_can_end_the_reading),
		cmocka_unit_test(each_failing_allocation_is_reported),
		TINY_CACHE_TEST(every_state_of_being_overwritten_is_readable),
		TINY_CACHE_TEST(processes_share_one_limit_and_all_stay_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
