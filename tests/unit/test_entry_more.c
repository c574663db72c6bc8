/* SPDX-License-Identifier: BSD-2-Clause */
/* test_entry_more.c - the grammar: what older versions wrote, what few samples have, where stacks are, frames of any kind, counters. */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <linux/types.h>

#include "geckobpf_abi.h"

#include "entry_pair.h"

static const struct frame frames_a[] = {{.value = 0x10},
					{.value = 0x20},
					{.value = 0x18},
					{.value = 0x1000, .kind = GB_FRAME_KERNEL}};

static const struct frame frames_b[] = {{.value = 0x10}, {.value = 0x20}, {.value = 0x30}};

static const struct sample_entry first_sample = {.weight = 1,
						 .thread = 0,
						 .user_end = 1,
						 .time_ns = 5000010,
						 .cpu_ns = 2000010,
						 .frames = frames_a,
						 .frame_count = 4};

/* ---- what older versions wrote ------------------------------------------------- */

static void assert_read(struct pair *pair, const struct sample_entry *sample, const char *bytes,
			size_t size)
{
	assert_int_equal(entry_decode(pair->decoder, (const uint8_t *)bytes, size, &visitor,
				      &pair->listener),
			 0);
	assert_heard(&pair->listener, sample);
}

#define ASSERT_READ(pair, sample, bytes) assert_read(pair, sample, bytes, sizeof(bytes) - 1)

static void version_2_is_read(void **state)
{
	static const struct frame cut[] = {{.value = GB_STACK_FULL, .kind = GB_FRAME_TRUNCATED},
					   {.value = 0x10}};
	struct pair *pair = *state;
	struct sample_entry sample = first_sample;

	ASSERT_READ(pair, &sample,
		    "\x87\xc0\x84\x3d\x01\x01\x0a\x14\xd1\x0f\x01\x20\x01\x20\x01\x0f\x03\x80\x40");
	sample = (struct sample_entry){.weight = 1,
				       .thread = 5,
				       .time_ns = 6000000,
				       .cpu_ns = 1000,
				       .run_ns = 900,
				       .frames = frames_b,
				       .frame_count = 3};
	ASSERT_READ(pair, &sample, "\xd6\x0a\x02\x13\x02\x01\x02\x01\x30");
	/* 3 up; frame 1 as a root, and the two frames that once came after it */
	sample.time_ns = 7000000;
	sample.cpu_ns = 1001000;
	sample.run_ns = 0;
	sample.frames = frames_a + 1;
	ASSERT_READ(pair, &sample, "\x98\x00\x03\x07\x04");
	/* A root at address 4 is why the stack was cut; frame 0. */
	sample.time_ns += PERIOD;
	sample.cpu_ns += PERIOD;
	sample.frames = cut;
	sample.frame_count = 2;
	ASSERT_READ(pair, &sample, "\x98\x00\x03\x01\x57\x05");
	/* Below another frame it is an address. */
	sample.time_ns += PERIOD;
	sample.cpu_ns += PERIOD;
	sample.frames = (const struct frame[]){{.value = 0x10}, {.value = GB_STACK_FULL}};
	ASSERT_READ(pair, &sample, "\x98\x00\x02\x05\x0f");
	/* What is written now may come after it. */
	pass(pair, &first_sample, true);
}

/* ---- what few samples have ----------------------------------------------------- */

static void a_sample_says_what_made_it_and_what_it_weighs(void **state)
{
	static const int64_t weights[] = {1, 0, -1, 1000, INT64_MAX, INT64_MIN};
	static const uint32_t events[] = {0, 1, 300, UINT32_MAX};
	struct pair *pair = *state;
	struct sample_entry sample = {.frames = frames_a, .frame_count = 4};
	size_t n;

	for (n = 0; n < 24; n++) {
		sample.weight = weights[n % 6];
		sample.event = events[n % 4];
		pass(pair, &sample, n == 20);
	}
	sample = (struct sample_entry){.weight = 1,
				       .time_ns = PERIOD,
				       .cpu_ns = PERIOD,
				       .frames = frames_a,
				       .frame_count = 4};
	ASSERT_BYTES(pair, &sample, false, "\x88\x00");
	sample.time_ns = sample.cpu_ns = 2 * PERIOD;
	sample.event = 7;
	sample.weight = -2;
	ASSERT_BYTES(pair, &sample, false, "\x02\x03\x07\x03\x88\x00");
}

/* In whole microseconds; what is shorter is not said. */
static void a_sleep_says_how_long_it_was(void **state)
{
	static const uint64_t slept_ns[] = {5000999, 999, 0, INT64_MAX};
	struct pair *pair = *state;
	struct sample_entry sample = {
		.weight = 1, .event = GB_EVENT_SLEEP, .frames = frames_a, .frame_count = 4};
	size_t n;

	for (n = 0; n < 4; n++) {
		sample.slept_ns = slept_ns[n];
		pass(pair, &sample, n == 2);
		assert_int_equal(pair->listener.sample.slept_ns, slept_ns[n] / 1000 * 1000);
	}
}

static void stack_addresses_are_told_when_they_change(void **state)
{
	struct pair *pair = *state;
	struct frame frames[] = {{.value = 0x10, .stack_words = 300},
				 {.value = 0x20, .stack_words = FRAME_FAR},
				 {.value = 0x30, .stack_words = 2}};
	struct sample_entry sample = {.weight = 1,
				      .stack_base = 0x7ffc00001000,
				      .far_sp = 0x5000,
				      .frames = frames,
				      .frame_count = 3};
	size_t size = pass(pair, &sample, false);

	/* Another thread, close by; then the first again, which has not moved. */
	sample.thread = 1;
	sample.stack_base -= 0x40;
	assert_true(pass(pair, &sample, false) < size - 20);
	sample.thread = 0;
	sample.stack_base += 0x40;
	assert_in_range(pass(pair, &sample, false), 3, 5);
	/* Nothing is said of them: they stay. */
	sample.stack_base = sample.far_sp = 0;
	assert_int_equal(
		entry_encode_sample(pair->encoder, &sample, false, &(const uint8_t *){0}, &size),
		0);
	/* The same code with another size of its frame is another frame. */
	sample.stack_base = 0x7ffc00001000;
	sample.far_sp = 0x5000;
	frames[2].stack_words = 3;
	pass(pair, &sample, true);
	frames[2].stack_words = 4;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.node_count, 4);
}

/* Whatever the kind is; that of the last is not known yet. */
static void frames_of_any_kind_come_back(void **state)
{
	struct pair *pair = *state;
	struct frame frames[FRAME_KINDS_MAX];
	struct sample_entry sample = {
		.weight = 1, .frames = frames, .frame_count = FRAME_KINDS_MAX};
	size_t n, round;

	for (round = 0; round < 3; round++) {
		for (n = 0; n < FRAME_KINDS_MAX; n++)
			frames[n] =
				(struct frame){.value = n ? UINT64_MAX / (n + round) : 7 + round,
					       .kind = (uint8_t)n};
		for (n = 0; n < FRAME_KINDS_MAX; n++) {
			if (!frame_is_user(&frames[n]))
				continue;
			frames[n].value &= (1ULL << GB_FRAME_PC_BITS) - 1;
			frames[n].stack_words = round ? (uint16_t)(0x1234 * n) : FRAME_FAR;
		}
		pass(pair, &sample, false);
	}
	/* The same value, once of each kind. */
	for (n = 0; n < FRAME_KINDS_MAX; n++)
		frames[n] = (struct frame){.value = 0x1000, .kind = (uint8_t)n};
	pass(pair, &sample, true);
	assert_int_equal(pair->listener.node_count, FRAME_KINDS_MAX);
}

#define PAIR_TEST(f) cmocka_unit_test_setup_teardown(f, open_pair, close_pair)

/* ---- counters ------------------------------------------------------------------ */

struct counter_listener {
	struct listener listener;
	struct counter_entry heard;
};

static int on_counter(void *context, const struct counter_entry *entry)
{
	((struct counter_listener *)context)->heard = *entry;
	return 0;
}

static const struct profile_visitor counting = {on_restart, on_node, on_sample, on_counter};

static void pass_counter(struct pair *pair, const struct counter_entry *entry, bool restart,
			 const char *wanted, size_t wanted_size)
{
	static struct counter_listener listener;
	const uint8_t *bytes;
	size_t size;

	assert_int_equal(entry_encode_counter(pair->encoder, entry, restart, &bytes, &size), 0);
	assert_int_equal(size, wanted_size);
	assert_memory_equal(bytes, wanted, size);
	assert_false(entry_is_sample(bytes[0]));
	assert_int_equal(entry_decode(pair->decoder, bytes, size, &counting, &listener), 0);
	assert_memory_equal(&listener.heard.counter, &entry->counter, sizeof(entry->counter));
	assert_true(listener.heard.time_ns == entry->time_ns);
	assert_true(listener.heard.value == entry->value);
}

#define PASS_COUNTER(pair, entry, restart, wanted)                                                 \
	pass_counter(pair, entry, restart, wanted, sizeof(wanted) - 1)

/* It may be the first in a chunk, and changes nothing of how samples are told. */
static void counters_are_told_by_their_change(void **state)
{
	struct pair *pair = *state;
	struct counter_entry entry = {.counter = 15, .time_ns = 5000000, .value = INT64_MIN};
	const uint8_t *bytes;
	size_t size;

	PASS_COUNTER(pair, &entry, true,
		     "\x05\x00\x03\xc0\x84\x3d\x0f\x80\xad\xe2\x04"
		     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	(void)pass(pair, &first_sample, false);
	entry = (struct counter_entry){.counter = 0, .time_ns = 5000000, .value = 64};
	PASS_COUNTER(pair, &entry, false, "\x04\x00\x13\x80\x01");
	entry.value = 63;
	entry.time_ns = 5000011;
	PASS_COUNTER(pair, &entry, false, "\x04\x00\x02\x01");
	(void)pass(pair, &first_sample, false);
	/* Who reads need not want to know. */
	assert_int_equal(entry_encode_counter(pair->encoder, &entry, true, &bytes, &size), 0);
	assert_int_equal(entry_decode(pair->decoder, bytes, size, &visitor, &pair->listener), 0);
	(void)pass(pair, &first_sample, false);
	entry.counter = ENTRY_COUNTERS;
	assert_int_equal(entry_encode_counter(pair->encoder, &entry, false, &bytes, &size),
			 -EINVAL);
}

static void wrong_counters_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{"\x05\x00\x03\x01\x10\x00\x00", 7}, /* no such counter */
		{"\x05\x00\x03\x01\x00\x00", 6}, /* too short */
		{"\x05\x00\x03\x01\x00\x00\x00\x00", 8}, /* too long */
		{"\x04\x00\x00\x00", 4}, /* it depends on what was not there */
	};
	struct pair *pair = *state;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(entry_decode(pair->decoder, (const uint8_t *)wrong[i].bytes,
					      wrong[i].size, &visitor, &pair->listener),
				 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(version_2_is_read),
		PAIR_TEST(a_sample_says_what_made_it_and_what_it_weighs),
		PAIR_TEST(a_sleep_says_how_long_it_was),
		PAIR_TEST(stack_addresses_are_told_when_they_change),
		PAIR_TEST(frames_of_any_kind_come_back),
		PAIR_TEST(counters_are_told_by_their_change),
		PAIR_TEST(wrong_counters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
