/* SPDX-License-Identifier: BSD-2-Clause */
/* test_entry.c - the grammar: exact bytes, everything comes back, and bad bytes are refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "entry_pair.h"

#define FRAMES_MAX 300

static void assert_bytes(struct pair *pair, const struct sample_entry *sample, bool restart,
			 const char *wanted, size_t wanted_size)
{
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, sample, restart, &bytes, &size), 0);
	assert_int_equal(size, wanted_size);
	assert_memory_equal(bytes, wanted, size);
	assert_int_equal(entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener), 0);
	assert_heard(&pair->listener, sample);
}

#define ASSERT_BYTES(pair, sample, restart, wanted)                                                \
	assert_bytes(pair, sample, restart, wanted, sizeof(wanted) - 1)

/* ---- bytes ------------------------------------------------------------------- */

static const uint64_t frames_a[] = {0x10, 0x20, 0x18, 0x1000};
static const uint64_t frames_b[] = {0x10, 0x20, 0x30};

static void the_bytes_are_those_of_the_drawing(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.thread = 0,
				      .user_end = 1,
				      .time_ns = 10,
				      .cpu_ns = 4,
				      .frames = frames_a,
				      .user_count = 3,
				      .kernel_count = 1};

	/* restart, user end, new frames: time, cpu, end, no base, 3 user, 1 kernel, differences */
	ASSERT_BYTES(pair, &sample, false, "\x99\x14\x08\x01\x00\x03\x01\x20\x20\x0f\x80\x40");
	/* the same again, later */
	sample.time_ns = 11;
	ASSERT_BYTES(pair, &sample, false, "\x84\x02\x00");
	/* another thread: its values begin at 0; an old time; base is node 1 */
	sample = (struct sample_entry){.thread = 5,
				       .time_ns = 9,
				       .cpu_ns = 1,
				       .run_ns = 2,
				       .frames = frames_b,
				       .user_count = 3};
	ASSERT_BYTES(pair, &sample, false, "\xaa\x05\x03\x02\x0e\x02\x01\x00\x30");
	/* it runs on; its stack is one that is known */
	sample.time_ns = 12;
	sample.run_ns = 5;
	sample.user_count = 2;
	ASSERT_BYTES(pair, &sample, false, "\xc0\x06\x00\x02");
	/* no stack */
	sample.user_count = 0;
	ASSERT_BYTES(pair, &sample, false, "\xc0\x00\x00\x00");
	/* back to the first thread */
	sample = (struct sample_entry){.thread = 0,
				       .user_end = 1,
				       .time_ns = 12,
				       .cpu_ns = 4,
				       .frames = frames_a,
				       .user_count = 3,
				       .kernel_count = 1};
	ASSERT_BYTES(pair, &sample, false, "\x86\x00\x00\x00");
	/* an epoch begins */
	ASSERT_BYTES(pair, &sample, true, "\x99\x18\x08\x01\x00\x03\x01\x20\x20\x0f\x80\x40");
	assert_int_equal(pair->listener.restarts, 2);
}

static void fill_frames(uint64_t *frames, size_t count, uint64_t seed)
{
	size_t n;

	for (n = 0; n < count; n++)
		frames[n] = 0x7f1234560000 + (seed * 7919 + n * 104729) % 0x400000;
}

static void a_known_stack_costs_a_handful_of_bytes(void **state)
{
	struct pair *pair = *state;
	uint64_t frames[25];
	struct sample_entry sample = {.user_end = 1,
				      .time_ns = 5000000000,
				      .cpu_ns = 70000000,
				      .run_ns = 3000000,
				      .frames = frames,
				      .user_count = 25};

	fill_frames(frames, 25, 1);
	assert_true(pass(pair, &sample, false) <= 150);
	sample.time_ns += 1000000;
	sample.cpu_ns += 999000;
	sample.run_ns += 1000000;
	assert_int_equal(pass(pair, &sample, false), 7);
	assert_int_equal(pair->listener.node_count, 25);
}

/* ---- round trips ------------------------------------------------------------- */

static void the_first_entry_restarts_by_itself(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .user_count = 1};

	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 1);
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 1);
}

static void extreme_values_come_back(void **state)
{
	static const uint64_t values[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 7};
	struct pair *pair = *state;
	size_t a, b, n = 0;

	for (a = 0; a < 6; a++) {
		for (b = 0; b < 6; b++, n++) {
			uint64_t frames[2] = {values[a], values[b]};
			struct sample_entry sample = {
				.thread = n % 2 ? UINT32_MAX : (uint32_t)n,
				.user_end = (uint8_t)(n * 37),
				.time_ns = values[a],
				.cpu_ns = values[b],
				.run_ns = values[(a + b) % 6],
				.frames = frames,
				.user_count = n % 3,
				.kernel_count = 2 - n % 3,
			};

			pass(pair, &sample, false);
		}
	}
}

static void a_kernel_frame_is_not_the_user_frame_of_that_address(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .user_count = 2};

	pass(pair, &sample, false);
	sample.user_count = 1;
	sample.kernel_count = 1;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 3);
	sample.user_count = 0;
	sample.kernel_count = 2;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
}

static void colliding_frames_are_told_apart(void **state)
{
	struct pair *pair = *state;
	uint64_t stride, n, pc;

	/* Small tables, emptied often; one of the strides makes neighbours, whatever the hash. */
	for (stride = 1; stride < 64; stride++) {
		for (n = 0; n < 28; n++) {
			bool is_kernel = n >= 14;
			struct sample_entry sample = {
				.frames = &pc, .user_count = !is_kernel, .kernel_count = is_kernel};

			pc = n % 14 * stride;
			pass(pair, &sample, n == 0);
			assert_int_equal(pair->listener.node_count, n + 1);
		}
	}
}

static void shared_callers_are_told_once(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .user_count = 4};

	pass(pair, &sample, false);
	sample.frames = frames_b;
	sample.user_count = 3;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
	sample.frames = frames_a;
	sample.user_count = 4;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 5);
}

static void recursion_makes_a_node_per_level(void **state)
{
	struct pair *pair = *state;
	uint64_t frames[FRAMES_MAX];
	struct sample_entry sample = {.frames = frames, .user_count = FRAMES_MAX};
	size_t n;

	for (n = 0; n < FRAMES_MAX; n++)
		frames[n] = 0x1234;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, FRAMES_MAX);
}

static void a_dropped_entry_makes_the_next_one_restart(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .user_count = 2, .time_ns = 5};
	const uint8_t *bytes;
	size_t size;

	pass(pair, &sample, false);
	sample.frames = frames_b;
	sample.user_count = 3;
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

static void random_sample(struct sample_entry *sample, uint64_t *frames, uint32_t *random)
{
	uint32_t count = next_random(random) % 12, n;

	for (n = 0; n < count; n++)
		frames[n] = 0x400000 + next_random(random) % 2 * 16 + n * 4096;
	sample->frames = frames;
	sample->kernel_count = next_random(random) % (count + 1) / 3;
	sample->user_count = count - sample->kernel_count;
	sample->thread = next_random(random) % 40;
	sample->user_end = next_random(random) % 10 ? 1 : 2;
	sample->time_ns += next_random(random) % 2000000 - 1000;
	sample->cpu_ns = next_random(random);
	sample->run_ns = next_random(random) % 3 ? sample->time_ns % 1000003 : 0;
}

static void random_samples_come_back(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.time_ns = 123456789};
	uint64_t frames[12];
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
	struct sample_entry sample = {.time_ns = 123456789};
	size_t n, round, allocations = 0;

	for (round = 0; round < 3; round++) {
		uint64_t frames[12];
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

static int decode_alone(struct listener *listener, const uint8_t *bytes, size_t size)
{
	struct entry_decoder *decoder;
	uint8_t *exact = malloc(size ? size : 1);
	int result;

	assert_non_null(exact);
	memcpy(exact, bytes, size);
	assert_int_equal(entry_decoder_open(&decoder), 0);
	result = entry_decode(decoder, exact, size, &visitor, listener);
	entry_decoder_close(decoder);
	free(exact);
	return result;
}

#define ASSERT_REFUSED(listener, text)                                                             \
	assert_int_equal(decode_alone(listener, (const uint8_t *)(text), sizeof(text) - 1),        \
			 -EBADMSG)

static void bytes_that_make_no_sense_are_refused(void **state)
{
	struct pair *pair = *state;
	struct listener *listener = &pair->listener;

	ASSERT_REFUSED(listener, ""); /* nothing at all */
	ASSERT_REFUSED(listener, "\x00\x00\x00"); /* not a kind */
	ASSERT_REFUSED(listener, "\x01\x00\x00\x00");
	ASSERT_REFUSED(listener, "\x7f\x00\x00\x00");
	ASSERT_REFUSED(listener, "\x84\x00\x00"); /* no epoch */
	ASSERT_REFUSED(listener, "\x85\x00\x00\x00"); /* a byte too many */
	ASSERT_REFUSED(listener, "\x8d\x00\x00\x00\x01\x00\x00"); /* same stack, yet new frames */
	ASSERT_REFUSED(listener, "\xe5\x00\x00\x00"); /* runs on, yet started anew */
	ASSERT_REFUSED(listener, "\x81\x00\x00\x01"); /* a stack that was never told */
	ASSERT_REFUSED(listener, "\x89\x00\x00\x01\x01\x00\x00"); /* a base likewise */
	ASSERT_REFUSED(listener, "\x89\x00\x00\x00\x00\x00"); /* new frames, but none */
	ASSERT_REFUSED(listener, "\x89\x00\x00\x00\x02\x00\x00"); /* fewer than announced */
	ASSERT_REFUSED(listener, "\x89\x00\x00\x00\xff\xff\xff\xff\x0f\xff\xff\xff\xff\x0f\x00");
	ASSERT_REFUSED(listener, "\x89\x00\x00\x00\x80\x80\x80\x80\x10\x00\x00"); /* 2^32 frames */
	ASSERT_REFUSED(listener, "\x87\x80\x80\x80\x80\x10\x00\x00"); /* thread 2^32 */
	assert_int_equal(listener->samples, 0);
	assert_int_equal(decode_alone(listener, (const uint8_t *)"\x85\x00\x00", 3), 0);
	assert_int_equal(listener->samples, 1);
}

static void every_truncation_is_refused(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.thread = 300,
				      .user_end = 1,
				      .time_ns = 1000000,
				      .cpu_ns = 70000,
				      .run_ns = 300,
				      .frames = frames_a,
				      .user_count = 3,
				      .kernel_count = 1};
	const uint8_t *bytes;
	size_t size, cut;

	assert_int_equal(entry_encode_sample(pair->encoder, &sample, true, &bytes, &size), 0);
	for (cut = 0; cut < size; cut++)
		assert_int_equal(decode_alone(&pair->listener, bytes, cut), -EBADMSG);
	assert_int_equal(pair->listener.samples, 0);
	assert_int_equal(decode_alone(&pair->listener, bytes, size), 0);
	assert_heard(&pair->listener, &sample);
}

static void random_bytes_do_no_harm(void **state)
{
	struct pair *pair = *state;
	uint32_t random = 99;
	size_t n, good = 0;

	for (n = 0; n < 100000; n++) {
		uint8_t bytes[24];
		size_t size = 1 + next_random(&random) % sizeof(bytes), i;
		int result;

		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)(next_random(&random) >> next_random(&random) % 8);
		bytes[0] |= 0x80;
		if (pair->listener.node_count > NODES_MAX - 32)
			bytes[0] |= 1;
		result = entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener);
		assert_true(result == 0 || result == -EBADMSG);
		good += !result;
	}
	assert_int_equal(good, pair->listener.samples);
	assert_true(good > 100 && good < n);
}

static void what_a_visitor_returns_ends_the_decoding(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .user_count = 3};
	struct listener *listener = &pair->listener;
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, &sample, true, &bytes, &size), 0);
	listener->restart_result = 5;
	assert_int_equal(decode_alone(listener, bytes, size), 5);
	listener->restart_result = 0;
	listener->node_result = -6;
	assert_int_equal(decode_alone(listener, bytes, size), -6);
	assert_int_equal(listener->node_count, 1);
	listener->node_result = 0;
	listener->sample_result = 7;
	assert_int_equal(decode_alone(listener, bytes, size), 7);
	assert_int_equal(listener->samples, 1);
}

static void more_frames_than_numbers_are_refused(void **state)
{
	struct pair *pair = *state;
	struct sample_entry sample = {
		.frames = frames_a, .user_count = UINT32_MAX, .kernel_count = UINT32_MAX};
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_sample(pair->encoder, &sample, false, &bytes, &size), -E2BIG);
	sample.user_count = 1;
	sample.kernel_count = 0;
	pass(pair, &sample, false);
}

/* ---- no memory --------------------------------------------------------------- */

static void a_failed_allocation_costs_that_sample_only(void **state)
{
	struct pair *pair = *state;
	size_t failed = 0, n;
	uint32_t random = 4711;
	struct sample_entry sample = {.time_ns = 123456789};

	for (n = 0; n < 3000; n++) {
		uint64_t frames[12];
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
	struct sample_entry sample = {.frames = frames_a, .user_count = 4};
	const uint8_t *bytes = NULL;
	size_t size = 0;
	uint32_t n;
	int err = entry_encoder_open(&pair->encoder);

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
	pair->encoder = NULL;
	pair->decoder = NULL;
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	struct pair pair = {0};

	/* Both openings, bytes, path, nodes, and three sizes of thread tables on either side. */
	assert_int_equal(alloc_fail_each(encode_and_decode, &pair), 11);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(the_bytes_are_those_of_the_drawing),
		PAIR_TEST(a_known_stack_costs_a_handful_of_bytes),
		PAIR_TEST(the_first_entry_restarts_by_itself),
		PAIR_TEST(extreme_values_come_back),
		PAIR_TEST(a_kernel_frame_is_not_the_user_frame_of_that_address),
		PAIR_TEST(colliding_frames_are_told_apart),
		PAIR_TEST(shared_callers_are_told_once),
		PAIR_TEST(recursion_makes_a_node_per_level),
		PAIR_TEST(a_dropped_entry_makes_the_next_one_restart),
		PAIR_TEST(random_samples_come_back),
		PAIR_TEST(warm_tables_do_not_allocate),
		PAIR_TEST(bytes_that_make_no_sense_are_refused),
		PAIR_TEST(every_truncation_is_refused),
		PAIR_TEST(random_bytes_do_no_harm),
		PAIR_TEST(what_a_visitor_returns_ends_the_decoding),
		PAIR_TEST(more_frames_than_numbers_are_refused),
		PAIR_TEST(a_failed_allocation_costs_that_sample_only),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
