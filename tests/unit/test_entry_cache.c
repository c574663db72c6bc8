/* SPDX-License-Identifier: BSD-2-Clause */
/* test_entry_cache.c - what encoders share and may lose: what is told is right all the same. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "entry_pair.h"

#define USER_NODE(epoch) entry_cache_tag(epoch, ENTRY_CACHE_NODE, 0)
#define USER_FRAME(epoch) entry_cache_tag(epoch, ENTRY_CACHE_FRAME, 0)

/* ---- the cache ----------------------------------------------------------------- */

static void put_node(struct entry_cache_set *set, uint32_t tag, uint32_t prefix, uint64_t pc,
		     uint32_t number)
{
	const struct entry_cache_item item = {pc, tag, number, prefix};

	entry_cache_put(set, &item);
}

static void keys_are_compared_whole(void **state)
{
	struct entry_cache_set set = {0};

	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 0), ENTRY_CACHE_NONE);
	assert_false(entry_cache_find_frame(&set, USER_FRAME(1), 0));
	put_node(&set, USER_NODE(1), 7, 0x8000000000000010, 3);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 7, 0x8000000000000010), 3);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 7, 0x10), ENTRY_CACHE_NONE);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 8, 0x8000000000000010),
			 ENTRY_CACHE_NONE);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(2), 7, 0x8000000000000010),
			 ENTRY_CACHE_NONE);
	assert_int_equal(entry_cache_find_node(&set, entry_cache_tag(1, ENTRY_CACHE_NODE, 1), 7,
					       0x8000000000000010),
			 ENTRY_CACHE_NONE);
	assert_false(entry_cache_find_frame(&set, USER_FRAME(1), 0x8000000000000010));
}

static void what_was_not_used_for_the_longest_goes(void **state)
{
	struct entry_cache_set set = {0};
	uint32_t n;

	for (n = 0; n < 3; n++)
		put_node(&set, USER_NODE(1), 0, n, n);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 1), 1);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 0), 0);
	put_node(&set, USER_NODE(1), 0, 3, 3);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 2), ENTRY_CACHE_NONE);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 0), 0);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 1), 1);
	assert_int_equal(entry_cache_find_node(&set, USER_NODE(1), 0, 3), 3);
}

static void all_sets_are_within_the_memory(void **state)
{
	struct entry_cache *cache;
	uint64_t pc;

	assert_int_equal(entry_cache_open(&cache, 64 * 5), 0);
	assert_int_equal(cache->set_count, 5);
	assert_int_equal((uintptr_t)cache->sets % 64, 0);
	for (pc = 0; pc < 1000; pc++) {
		struct entry_cache_set *set = entry_cache_set(cache, entry_cache_hash(1, pc, 0));

		assert_in_range(set - cache->sets, 0, 4);
		put_node(set, USER_NODE(1), 0, pc, 1);
	}
	assert_ptr_equal(entry_cache_set(cache, UINT64_MAX), cache->sets + 4);
	for (pc = 0; pc < 5; pc++)
		assert_int_not_equal(cache->sets[pc].tag[2], 0);
	entry_cache_close(cache);
	entry_cache_close(NULL);
}

/* ---- encoders ------------------------------------------------------------------ */

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

/* Stacks that share much: few functions, much recursion. */
static void random_stack(struct sample_entry *sample, struct frame *frames, uint32_t *random)
{
	uint32_t count = next_random(random) % 16, kernel = next_random(random) % (count + 1) / 3,
		 n;

	for (n = 0; n < count; n++)
		frames[n] = (struct frame){.value = 0x400000 + next_random(random) % 3 * 16,
					   .kind = n < count - kernel ? GB_FRAME_USER
								      : GB_FRAME_KERNEL};
	sample->frames = frames;
	sample->frame_count = count;
	sample->thread = next_random(random) % 3;
	sample->time_ns += next_random(random) % 2000000;
	sample->cpu_ns = sample->time_ns / 2;
}

/* Random samples through a pair. Returns their bytes. */
static size_t pass_many(struct pair *pair, size_t count)
{
	struct sample_entry sample = {.weight = 1, .time_ns = 123456789};
	struct frame frames[16];
	uint32_t random = 4711;
	size_t bytes = 0, n;

	for (n = 0; n < count; n++) {
		random_stack(&sample, frames, &random);
		bytes += pass(pair, &sample, n % 300 == 0);
	}
	return bytes;
}

static void what_is_forgotten_is_told_again(void **state)
{
	struct pair *pair = *state;
	size_t bytes = pass_many(pair, 30000), forgetful_bytes;
	void *forgetful;

	assert_int_equal(open_forgetful_pair(&forgetful), 0);
	forgetful_bytes = pass_many(forgetful, 30000);
	close_pair(&forgetful);
	/* It did forget. */
	assert_true(forgetful_bytes > bytes + bytes / 2);
}

static void a_small_cache_forgets_some(void **state)
{
	pass_many(*state, 30000);
}

/* A sample of every pair in turn; all of them have one cache. */
static void encoders_do_not_take_each_others_word(void **state)
{
	struct pair *pair = *state, others[3] = {0};
	struct sample_entry sample = {.weight = 1, .time_ns = 123456789};
	struct frame frames[16];
	uint32_t random = 99;
	size_t n;

	for (n = 0; n < 3; n++) {
		others[n].cache = pair->cache;
		assert_int_equal(entry_encoder_open(&others[n].encoder, pair->cache, PERIOD), 0);
		assert_int_equal(entry_decoder_open(&others[n].decoder), 0);
	}
	for (n = 0; n < 30000; n++) {
		random_stack(&sample, frames, &random);
		pass(n % 4 < 3 ? &others[n % 4] : pair, &sample, next_random(&random) % 100 == 0);
	}
	for (n = 0; n < 3; n++) {
		entry_encoder_close(others[n].encoder);
		entry_decoder_close(others[n].decoder);
	}
}

/* The number of an epoch comes again, but not while anybody knows it by that number. */
static void epochs_start_over_safely(void **state)
{
	static const struct frame frames[] = {{.value = 0x10}, {.value = 0x20}, {.value = 0x30}};
	struct pair *pair = *state;
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = 3};
	struct entry_encoder *other;
	const uint8_t *bytes;
	uint64_t epoch;
	size_t size;

	/* This pair's epoch is 1. */
	pass(pair, &sample, false);
	assert_int_equal(pair->cache->epoch, 1);
	assert_int_equal(entry_encoder_open(&other, pair->cache, PERIOD), 0);
	pair->cache->epoch = ENTRY_CACHE_EPOCHS - 2;
	epoch = entry_cache_begin(pair->cache);
	assert_int_equal(epoch, ENTRY_CACHE_EPOCHS - 1);
	assert_true(entry_cache_knows(pair->cache, epoch));
	/* So is the other's, which tells two of the frames. */
	sample.frame_count = 2;
	assert_int_equal(entry_encode_sample(other, &sample, false, &bytes, &size), 0);
	assert_int_equal(pair->cache->epoch, 1);
	assert_int_equal(pair->cache->generation, 1);
	assert_false(entry_cache_knows(pair->cache, epoch));
	/* What this one knows is forgotten: it starts over by itself. */
	sample.frame_count = 3;
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 2);
	assert_int_equal(pair->cache->epoch, 2);
	pass(pair, &sample, false);
	assert_int_equal(pair->listener.restarts, 2);
	entry_encoder_close(other);
}

static int open_and_close(void *context)
{
	struct entry_cache *cache = NULL;
	int err = entry_cache_open(&cache, 1000);

	entry_cache_close(cache);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 3);
}

#define PAIR_TEST(f, open) cmocka_unit_test_setup_teardown(f, open, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_compared_whole),
		cmocka_unit_test(what_was_not_used_for_the_longest_goes),
		cmocka_unit_test(all_sets_are_within_the_memory),
		PAIR_TEST(what_is_forgotten_is_told_again, open_pair),
		PAIR_TEST(a_small_cache_forgets_some, open_small_pair),
		PAIR_TEST(encoders_do_not_take_each_others_word, open_small_pair),
		PAIR_TEST(epochs_start_over_safely, open_pair),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
