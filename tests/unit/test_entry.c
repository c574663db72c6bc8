/* SPDX-License-Identifier: BSD-2-Clause */
/* test_entry.c - the grammar: exact bytes, and everything comes back. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "entry_pair.h"

#define FRAMES_MAX 300

/* ---- bytes ------------------------------------------------------------------- */

static const struct frame frames_a[] = {{.value = 0x10},
					{.value = 0x20},
					{.value = 0x18},
					{.value = 0x1000, .kind = GB_FRAME_KERNEL}};
static const struct frame frames_b[] = {{.value = 0x10}, {.value = 0x20}, {.value = 0x30}};

#define EPOCH "\x00\x03\xc0\x84\x3d" /* version 3; the period, 1000000 ns */

static const struct sample_entry first_sample = {.weight = 1,
						 .thread = 0,
						 .user_end = 1,
						 .time_ns = 5000010,
						 .cpu_ns = 2000010,
						 .frames = frames_a,
						 .frame_count = 4};

/* `sample` is the last one, of thread 5. */
static void bytes_of_what_follows(struct pair *pair, struct sample_entry sample)
{
	/* 2 periods and a half without CPU time; no stack: 2 up */
	sample.time_ns = 9500000;
	sample.run_ns = 0;
	sample.frame_count = 0;
	ASSERT_BYTES(pair, &sample, false, "\x94\x04\xc0\x84\x3d\x00\x02");
	/* back to the first thread, 4 periods after its sample before; its stack is the same */
	sample = first_sample;
	sample.time_ns = 10000011;
	sample.cpu_ns = 3000511;
	sample.run_ns = 500;
	ASSERT_BYTES(pair, &sample, false, "\xc6\x00\x08\x00\x00\x01");
	assert_int_equal(pair->listener.sample.cpu_ns, 3000011);
	/* a node that is known: number 4 */
	sample.time_ns += 1000000;
	sample.cpu_ns += 1000000;
	sample.frames = frames_b;
	sample.frame_count = 3;
	ASSERT_BYTES(pair, &sample, false, "\xa8\x00\x04");
	/* 3 up; frame 1 as a root, and the two frames that once came after it */
	sample.time_ns += 1000000;
	sample.cpu_ns += 1000000;
	sample.frames = frames_a + 1;
	sample.frame_count = 3;
	ASSERT_BYTES(pair, &sample, false, "\x98\x00\x03\x09\x04");
	assert_int_equal(pair->listener.node_count, 8);
	/* an epoch begins */
	ASSERT_BYTES(pair, &first_sample, true,
		     "\x87" EPOCH
		     "\x01\x01\x0a\x14\xd1\x0f\x01\x20\x00\x01\x20\x00\x01\x0f\x00\x03\x80\x40");
	assert_int_equal(pair->listener.restarts, 2);
}

static void the_bytes_are_those_of_the_drawing(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = first_sample;

	/* thread 0, its user end; 5 periods and 10 ns; 2001 us; 3 user frames, 1 kernel frame */
	ASSERT_BYTES(pair, &sample, false,
		     "\x87" EPOCH
		     "\x01\x01\x0a\x14\xd1\x0f\x01\x20\x00\x01\x20\x00\x01\x0f\x00\x03\x80\x40");
	assert_true(pair->listener.sample.cpu_ns == 2000010);
	/* running on, a period and 1 ns later, the same stack */
	sample.time_ns = 6000011;
	sample.cpu_ns = 3000011;
	ASSERT_BYTES(pair, &sample, false, "\x88\x02");
	/* another thread, 11 ns earlier than the sample before; it came just now; 2 up, a new frame */
	sample = (struct sample_entry){.weight = 1,
				       .thread = 5,
				       .time_ns = 6000000,
				       .cpu_ns = 1000,
				       .run_ns = 900,
				       .frames = frames_b,
				       .frame_count = 3};
	ASSERT_BYTES(pair, &sample, false, "\xd6\x0a\x00\x15\x02\x01\x02\x01\x30\x00");
	assert_int_equal(pair->listener.sample.run_ns, 1000);
	/* it runs on; 1 up */
	sample.time_ns = 7000000;
	sample.cpu_ns = 1001000;
	sample.run_ns = 1000900;
	sample.frame_count = 2;
	ASSERT_BYTES(pair, &sample, false, "\x98\x00\x01");
	assert_int_equal(pair->listener.sample.run_ns, 0);
	bytes_of_what_follows(pair, sample);
}

static void a_late_node_is_counted_from_the_end(void **state)
{
	struct pair *pair = *state;
	struct frame frame = {.value = 0x1000};
	struct sample_entry sample = {.weight = 1, .frames = &frame, .frame_count = 1};

	for (; frame.value < 0x1000 + 300; frame.value++)
		pass(pair, &sample, false);
	frame.value = 0x1000 + 298;
	sample.time_ns += PERIOD;
	sample.cpu_ns += PERIOD;
	ASSERT_BYTES(pair, &sample, false, "\xb8\x00\x01");
	frame.value = 0x1000 + 3;
	sample.time_ns += PERIOD;
	sample.cpu_ns += PERIOD;
	ASSERT_BYTES(pair, &sample, false, "\xa8\x00\x03");
	assert_int_equal(pair->listener.node_count, 300);
}

static void fill_frames(struct frame *frames, size_t count, uint64_t seed)
{
	size_t n;

	for (n = 0; n < count; n++)
		frames[n] = (struct frame){.value = 0x7f1234560000 +
						    (seed * 7919 + n * 104729) % 0x400000};
}

static void a_known_stack_costs_a_handful_of_bytes(void **state)
{
	struct pair *pair = *state;
	struct frame frames[25];
	struct sample_entry sample = {.weight = 1,
				      .user_end = 1,
				      .time_ns = 5000000000,
				      .cpu_ns = 70000000,
				      .run_ns = 3000000,
				      .frames = frames,
				      .frame_count = 25};

	fill_frames(frames, 25, 1);
	assert_true(pass(pair, &sample, false) <= 150);
	/* It waited for 1 us. */
	sample.time_ns += 1000000;
	sample.cpu_ns += 999000;
	sample.run_ns += 1000000;
	assert_int_equal(pass(pair, &sample, false), 4);
	sample.time_ns += 1000000 - 8000;
	sample.cpu_ns += 1000000 - 8000;
	assert_int_equal(pass(pair, &sample, false), 3);
	assert_int_equal(pair->listener.node_count, 25);
}

/* ---- round trips ------------------------------------------------------------- */

static void the_first_entry_restarts_by_itself(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames_a, .frame_count = 1};

	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 1);
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 1);
}

static void extreme_values_come_back(void **state)
{
	static const uint64_t values[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 7};
	static const uint64_t times[] = {0, 1, INT64_MAX, INT64_MAX - 999, PERIOD, 1ULL << 62};
	struct pair *pair = *state;
	size_t a, b, n = 0;

	for (a = 0; a < 6; a++) {
		for (b = 0; b < 6; b++, n++) {
			const struct frame frames[2] = {
				{.value = values[a], .kind = GB_FRAME_KERNEL},
				{.value = values[b], n % 2 ? GB_FRAME_KERNEL : GB_FRAME_USER}};
			struct sample_entry sample = {
				.weight = 1,
				.thread = n % 2 ? UINT32_MAX : (uint32_t)n,
				.user_end = (uint8_t)(n * 37),
				.time_ns = times[a],
				.cpu_ns = times[b] < times[a] ? times[b] : times[a],
				.run_ns = values[(a + b) % 6],
				.frames = frames,
				.frame_count = 2,
			};

			pass(pair, &sample, n % 7 == 0);
		}
	}
}

static void periods_do_not_matter_to_what_comes_back(void **state)
{
	static const uint64_t periods[] = {1, 2, 3, 999999, INT64_MAX};
	struct pair *pair = *state;
	size_t n, i;

	for (n = 0; n < 5; n++) {
		struct sample_entry sample = {
			.weight = 1, .frames = frames_a, .time_ns = 1ULL << 40};

		entry_encoder_close(pair->encoder);
		assert_int_equal(entry_encoder_open(&pair->encoder, pair->cache, periods[n]), 0);
		for (i = 0; i < 40; i++) {
			sample.time_ns += i % 2 ? 1ULL << i : -(1ULL << i / 2);
			pass(pair, &sample, false);
		}
	}
}

/* CPU time is told by what was waited: exact as long as a thread runs on. */
static void cpu_time_lacks_less_than_a_microsecond(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {
		.weight = 1, .time_ns = 123456789, .cpu_ns = 1234, .frames = frames_a};
	uint64_t lacks;
	size_t n;

	pass(pair, &sample, false);
	assert_int_equal(pair->listener.sample.cpu_ns, 789); /* 123456 us waited */
	lacks = 1234 - 789;
	for (n = 0; n < 100; n++) {
		sample.time_ns += 999001 + n * 10;
		sample.cpu_ns += 999001 + n * 10;
		pass(pair, &sample, false);
		assert_true(pair->listener.sample.cpu_ns == sample.cpu_ns - lacks);
	}
	/* It never falls below 0, and says so when it went back. */
	sample.cpu_ns = 10;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.sample.cpu_ns, 0);
}

static void assert_run(struct pair *pair, uint64_t time_ns, uint64_t run_ns, uint64_t wanted_ns)
{
	struct sample_entry sample = {
		.weight = 1, .time_ns = time_ns, .run_ns = run_ns, .frames = frames_a};

	pass(pair, &sample, false);
	assert_int_equal(pair->listener.sample.run_ns, wanted_ns);
}

static void a_run_is_told_where_it_began_after_a_gap(void **state)
{
	struct pair *pair = *state;
	uint64_t ms = PERIOD;

	assert_run(pair, 100 * ms, 2500, 3000); /* the first: nobody knows what was before */
	assert_run(pair, 101 * ms, ms + 2500, 0); /* it ran on */
	assert_run(pair, 102 * ms, 1, 0); /* a pause within a period */
	assert_run(pair, 103 * ms, 0, 0); /* not known */
	assert_run(pair, 105 * ms, ms, 0); /* a period precisely */
	assert_run(pair, 107 * ms, ms - 1000, ms - 1000); /* one and 1 us */
	assert_run(pair, 109 * ms, ms - 999, 0); /* no more than a period, when rounded */
	assert_run(pair, 208 * ms, 1, 1000);
	assert_run(pair, 308 * ms, 308 * ms + 1, 0); /* since before there was time */
	assert_run(pair, 300 * ms, 1, 0); /* an older one, late */
}

static void every_thread_has_times_of_its_own(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames_a};
	size_t n;

	/* In step, but at odds: neither is ever a period after the other. */
	for (n = 0; n < 20; n++) {
		sample.thread = n % 2;
		sample.time_ns = 5000000000 + n / 2 * PERIOD + n % 2 * 377777;
		sample.cpu_ns = sample.time_ns;
		assert_in_range(pass(pair, &sample, false), 3, n < 2 ? 20 : 3);
	}
}

static void a_kernel_frame_is_not_the_user_frame_of_that_address(void **state)
{
	struct pair *pair = *state;
	struct frame frames[] = {{.value = 0x10}, {.value = 0x20}};
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = 2};

	pass(pair, &sample, false);
	frames[1].kind = GB_FRAME_KERNEL;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 3);
	frames[0].kind = GB_FRAME_KERNEL;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
}

static void colliding_frames_are_told_apart(void **state)
{
	struct pair *pair = *state;
	uint64_t stride, n;

	/* Small tables, emptied often; one of the strides makes neighbours, whatever the hash. */
	for (stride = 1; stride < 64; stride++) {
		for (n = 0; n < 28; n++) {
			const struct frame frame = {.value = 0x1000 + n % 14 * stride,
						    .kind = n < 14 ? GB_FRAME_USER
								   : GB_FRAME_KERNEL};
			const struct sample_entry sample = {
				.weight = 1, .frames = &frame, .frame_count = 1};

			pass(pair, &sample, n == 0);
			assert_int_equal(pair->listener.node_count, n + 1);
		}
	}
}

static void shared_callers_are_told_once(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames_a, .frame_count = 4};

	pass(pair, &sample, false);
	sample.frames = frames_b;
	sample.frame_count = 3;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
	sample.frames = frames_a;
	sample.frame_count = 4;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
}

static void recursion_makes_a_node_per_level(void **state)
{
	struct pair *pair = *state;
	struct frame frames[FRAMES_MAX];
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = FRAMES_MAX};
	size_t n;

	for (n = 0; n < FRAMES_MAX; n++)
		frames[n] = (struct frame){.value = 0x1234};
	/* kind, version, period, thread, time; the frame; it again; 298 times what comes after it */
	assert_int_equal(pass(pair, &sample, false), 1 + 2 + 3 + 1 + 2 + 4 + 1 + 2);
	assert_int_equal(pair->listener.node_count, FRAMES_MAX);
}

static void a_dropped_entry_makes_the_next_one_restart(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {
		.weight = 1, .frames = frames_a, .frame_count = 2, .time_ns = 5};
	const uint8_t *bytes;
	size_t size;

	pass(pair, &sample, false);
	sample.frames = frames_b;
	sample.frame_count = 3;
	sample.time_ns = 500;
	assert_int_equal(entry_encode_sample(pair->encoder, &sample, false, &bytes, &size), 0);
	entry_encoder_drop(pair->encoder);
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 2);
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 2);
}

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

static void random_sample(struct sample_entry *sample, struct frame *frames, uint32_t *random)
{
	uint32_t count = next_random(random) % 12, kernel = next_random(random) % (count + 1) / 3,
		 n;

	for (n = 0; n < count; n++)
		frames[n] = (struct frame){
			.value = 0x400000 + next_random(random) % 2 * 16 + n * 4096,
			.kind = n < count - kernel ? GB_FRAME_USER : GB_FRAME_KERNEL};
	sample->frames = frames;
	sample->frame_count = count;
	sample->thread = next_random(random) % 40;
	sample->user_end = next_random(random) % 10 ? 1 : 2;
	sample->time_ns += next_random(random) % 2000000 - 1000;
	sample->cpu_ns = next_random(random);
	sample->run_ns = next_random(random) % 3 ? sample->time_ns % 1000003 : 0;
}

static void random_samples_come_back(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .time_ns = 123456789};
	struct frame frames[12];
	uint32_t random = 4711;
	size_t n, most = 0;

	for (n = 0; n < 20000; n++) {
		random_sample(&sample, frames, &random);
		pass(pair, &sample, next_random(&random) % 300 == 0);
		if (pair->listener.node_count > most)
			most = pair->listener.node_count;
	}
	assert_true(pair->listener.restarts > 20);
	assert_true(most > 500);
}

static void warm_tables_do_not_allocate(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .time_ns = 123456789};
	size_t n, round, allocations = 0;

	for (round = 0; round < 3; round++) {
		struct frame frames[12];
		uint32_t random = 4711;

		allocations = alloc_count();
		for (n = 0; n < 500; n++) {
			const uint8_t *bytes;
			size_t size;

			random_sample(&sample, frames, &random);
			assert_int_equal(
				entry_encode_sample(pair->encoder, &sample, n == 0, &bytes, &size),
				0);
		}
		if (!round)
			assert_true(alloc_count() > allocations);
	}
	assert_int_equal(alloc_count(), allocations);
}

/* ---- refused ----------------------------------------------------------------- */

static void more_frames_than_there_may_be_are_refused(void **state)
{
	static struct frame frames[SAMPLE_MAX_FRAMES];
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = UINT32_MAX};
	const uint8_t *bytes;
	size_t size, n;

	/* As large as they come: each frame is new and far from the one before it. */
	for (n = 0; n < SAMPLE_MAX_FRAMES; n++)
		frames[n] =
			(struct frame){.value = n * 0x8000000000000001, .kind = GB_FRAME_KERNEL};
	assert_int_equal(entry_encode_sample(pair->encoder, &sample, false, &bytes, &size), -E2BIG);
	sample.frame_count = SAMPLE_MAX_FRAMES;
	assert_in_range(pass(pair, &sample, false), SAMPLE_MAX_FRAMES * 10, ENTRY_MAX_BYTES);
	sample.frame_count++;
	assert_int_equal(entry_encode_sample(pair->encoder, &sample, false, &bytes, &size), -E2BIG);
	/* That one did no harm. */
	sample.frame_count--;
	sample.cpu_ns = sample.time_ns = PERIOD;
	assert_int_equal(pass(pair, &sample, false), 2);
}

/* ---- no memory --------------------------------------------------------------- */

static void a_failed_allocation_costs_that_sample_only(void **state)
{
	struct pair *pair = *state;
	size_t failed = 0, n;
	uint32_t random = 4711;
	struct sample_entry sample = {.weight = 1, .time_ns = 123456789};

	for (n = 0; n < 3000; n++) {
		struct frame frames[12];
		const uint8_t *bytes;
		size_t size;

		random_sample(&sample, frames, &random);
		sample.thread = (uint32_t)n / 4;
		alloc_fail_at(n % 3 ? 1 : 2);
		if (entry_encode_sample(pair->encoder, &sample, false, &bytes, &size)) {
			assert_true(alloc_fail_stop());
			failed++;
			continue;
		}
		assert_false(alloc_fail_stop());
		assert_int_equal(
			entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener), 0);
		assert_heard(&pair->listener, &sample);
	}
	assert_true(failed > 4);
	assert_int_equal(pair->listener.samples, n - failed);
}

static int encode_and_decode(void *context)
{
	struct pair *pair = context;
	struct sample_entry sample = {.weight = 1, .frames = frames_a, .frame_count = 4};
	const uint8_t *bytes = NULL;
	size_t size = 0;
	uint32_t n;
	int err = entry_cache_open(&pair->cache, 4096);

	if (!err)
		err = entry_encoder_open(&pair->encoder, pair->cache, PERIOD);
	if (!err)
		err = entry_decoder_open(&pair->decoder);
	for (n = 0; n < 100 && !err; n++) {
		sample.thread = n;
		err = entry_encode_sample(pair->encoder, &sample, false, &bytes, &size);
		if (!err)
			err = entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener);
	}
	entry_encoder_close(pair->encoder);
	entry_decoder_close(pair->decoder);
	entry_cache_close(pair->cache);
	pair->encoder = NULL;
	pair->decoder = NULL;
	pair->cache = NULL;
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	struct pair pair = {0};

	/*
	 * The cache's three, both openings, path, prefixes, frames, and six sizes of thread tables
	 * on either side.
	 */
	assert_int_equal(alloc_fail_each(encode_and_decode, &pair), 20);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(the_bytes_are_those_of_the_drawing),
		PAIR_TEST(a_late_node_is_counted_from_the_end),
		PAIR_TEST(a_known_stack_costs_a_handful_of_bytes),
		PAIR_TEST(the_first_entry_restarts_by_itself),
		PAIR_TEST(extreme_values_come_back),
		PAIR_TEST(periods_do_not_matter_to_what_comes_back),
		PAIR_TEST(cpu_time_lacks_less_than_a_microsecond),
		PAIR_TEST(a_run_is_told_where_it_began_after_a_gap),
		PAIR_TEST(every_thread_has_times_of_its_own),
		PAIR_TEST(a_kernel_frame_is_not_the_user_frame_of_that_address),
		PAIR_TEST(colliding_frames_are_told_apart),
		PAIR_TEST(shared_callers_are_told_once),
		PAIR_TEST(recursion_makes_a_node_per_level),
		PAIR_TEST(a_dropped_entry_makes_the_next_one_restart),
		PAIR_TEST(random_samples_come_back),
		PAIR_TEST(warm_tables_do_not_allocate),
		PAIR_TEST(more_frames_than_there_may_be_are_refused),
		PAIR_TEST(a_failed_allocation_costs_that_sample_only),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
