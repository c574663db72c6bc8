/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_limit.c - the manager with a limit: which chunks it lends, and which go first. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "limit.h"

static void it_is_as_asked_and_has_nothing_released(void **state)
{
	struct chunk_manager *manager = manager_of(1000, NULL);

	assert_int_equal(manager->max_bytes, 1000);
	assert_int_equal(manager->max_block_bytes, MAX_BLOCK_BYTES);
	assert_null(chunk_manager_peek(manager));
	chunk_manager_release(manager, NULL);
	chunk_manager_give_back(manager, NULL);
	chunk_manager_forget(manager);
	assert_null(chunk_manager_peek(manager));
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
	chunk_manager_close(NULL);
}

static void chunks_of_no_bytes_are_refused(void **state)
{
	struct chunk_manager_limit_config config = {.max_total_bytes = 1000};
	struct chunk_manager *manager = NULL;

	assert_int_equal(chunk_manager_limit_open(&manager, &config), -EINVAL);
	config.chunk_first_bytes = 10;
	assert_int_equal(chunk_manager_limit_open(&manager, &config), -EINVAL);
	assert_null(manager);
}

static void assert_fresh(const struct chunk *chunk, enum chunk_state wanted)
{
	assert_int_equal(chunk->header.state, wanted);
	assert_int_equal(chunk->header.buffer_bytes, CHUNK);
	assert_int_equal(chunk->header.range_start, 0);
	assert_int_equal(chunk->header.block_count, 0);
	assert_int_equal(chunk_remaining(chunk), CHUNK);
	assert_null(chunk->next);
}

static void new_and_recycled_chunks_are_empty_and_unlinked(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(1000, &tally);
	struct chunk *chunk;

	chunk = get(manager);
	assert_fresh(chunk, CHUNK_CREATED);
	chunk_manager_give_back(manager, chunk);
	chunk = get_done(manager, 1);
	chunk_manager_give_back(manager, chunk);
	chunk = get(manager);
	assert_fresh(chunk, CHUNK_RECYCLED);
	assert_int_equal(tally.count, 0); /* what is given back was not released */
	assert_bytes(manager, CHUNK, 0);
	chunk_manager_give_back(manager, chunk);
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
}

static void three_rollovers_destroy_the_oldest_and_reuse_memory(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(10 * CHUNK, &tally);
	struct chunk *first = get(manager);
	struct chunk_manager_stats stats;
	size_t reused = 0;
	uint64_t n;

	chunk_manager_give_back(manager, first);
	for (n = 1; n <= 30; n++) {
		struct chunk *chunk = get_done(manager, n);

		reused += chunk == first;
		chunk_manager_release(manager, chunk);
		assert_int_equal(tally.count, n < 10 ? 0 : n - 9);
		assert_int_equal(tally.last_range_start, tally.count);
		assert_bytes(manager, 0, (n < 9 ? n : 9) * CHUNK);
	}
	assert_int_equal(tally.bytes, 21 * CHUNK);
	assert_int_equal(tally.last_state, CHUNK_DONE);
	assert_true(reused >= 2);
	stats = chunk_manager_get_stats(manager);
	assert_int_equal(stats.destroyed, 21);
	assert_int_equal(stats.made, 9);
	assert_int_equal(stats.recycled, 22);
	chunk_manager_close(manager);
	assert_int_equal(tally.count, 21);
}

static void what_is_lent_counts_against_the_limit(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(4 * CHUNK, &tally);
	struct chunk *lent = get(manager);

	chunk_set_last(lent, get(manager));
	chunk_manager_release(manager, get_done(manager, 1));
	chunk_set_last(lent, get(manager));
	assert_int_equal(tally.count, 1);
	/* Nothing is left to destroy: the limit is passed rather than data refused. */
	chunk_set_last(lent, get(manager));
	chunk_set_last(lent, get(manager));
	assert_bytes(manager, 5 * CHUNK, 0);
	chunk_manager_give_back(manager, lent);
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
}

static void a_limit_below_one_chunk_keeps_only_what_is_lent(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(CHUNK / 2, &tally);
	uint64_t n;

	for (n = 1; n <= 5; n++) {
		struct chunk *chunk = get_done(manager, n);

		assert_int_equal(tally.count, n - 1);
		assert_bytes(manager, CHUNK, 0);
		chunk_manager_release(manager, chunk);
	}
	assert_int_equal(chunk_manager_get_stats(manager).made, 1);
	chunk_manager_close(manager);
}

static void at_most_two_chunks_are_kept(void **state)
{
	struct chunk_manager *manager = manager_of(100 * CHUNK, NULL);
	struct chunk *chunks = NULL;
	size_t n;

	for (n = 0; n < 4; n++)
		chunks = chunk_join(get(manager), chunks);
	chunk_manager_give_back(manager, chunks);
	for (n = 0, chunks = NULL; n < 4; n++)
		chunks = chunk_join(get(manager), chunks);
	assert_int_equal(chunk_manager_get_stats(manager).made, 6);
	assert_int_equal(chunk_manager_get_stats(manager).recycled, 2);
	chunk_manager_give_back(manager, chunks);
	chunk_manager_close(manager);
}

/* A permutation of 0..99. */
static size_t shuffled(size_t n)
{
	return (n * 37 + 11) % 100;
}

static void a_hundred_shuffled_releases_end_up_sorted(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	const struct chunk *listed;
	struct chunk *chunks[100];
	size_t n, count;

	for (n = 0; n < 100; n++) {
		chunks[n] = get_done(manager, n + 1);
		chunks[n]->header.done_ns = 5000 + n;
	}
	for (n = 0; n < 100; n++) {
		uint64_t before = 0;

		chunk_manager_release(manager, chunks[shuffled(n)]);
		count = 0;
		for (listed = chunk_manager_peek(manager); listed; listed = listed->next) {
			assert_true(listed->header.done_ns > before);
			before = listed->header.done_ns;
			count++;
		}
		assert_int_equal(count, n + 1);
	}
	listed = chunk_manager_peek(manager);
	for (n = 0; n < 100; n++, listed = listed->next)
		assert_ptr_equal(listed, chunks[n]);
	assert_null(listed);
	chunk_manager_destroy_at_or_before(manager, UINT64_MAX);
	assert_null(chunk_manager_peek(manager));
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
}

static void equal_done_times_keep_the_order_of_arrival(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	static const uint64_t times[] = {7, 5, 5, 7, 6, 5};
	static const uint64_t wanted[] = {2, 3, 6, 5, 1, 4};
	const struct chunk *listed;
	struct chunk *chunks[6];
	size_t n;

	for (n = 0; n < 6; n++) {
		chunks[n] = get_done(manager, n + 1);
		chunks[n]->header.done_ns = times[n];
	}
	for (n = 0; n < 6; n++)
		chunk_manager_release(manager, chunks[n]);
	for (n = 0, listed = chunk_manager_peek(manager); n < 6; n++, listed = listed->next)
		assert_int_equal(listed->header.range_start, wanted[n]);
	chunk_manager_close(manager);
}

static void destroying_by_time_takes_that_time_along(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(1000 * CHUNK, &tally);
	uint64_t n;

	for (n = 1; n <= 5; n++) {
		struct chunk *chunk = get_done(manager, n);

		chunk->header.done_ns = n * 10;
		chunk_manager_release(manager, chunk);
	}
	chunk_manager_destroy_at_or_before(manager, 9);
	assert_int_equal(tally.count, 0);
	chunk_manager_destroy_at_or_before(manager, 30);
	assert_int_equal(tally.count, 3);
	assert_int_equal(chunk_manager_peek(manager)->header.range_start, 4);
	assert_bytes(manager, 0, 2 * CHUNK);
	chunk_manager_close(manager);
}

/* W3: reclaimed bytes are lent bytes. */
static void w3_reclaiming_moves_the_bytes(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(1000 * CHUNK, &tally);
	struct chunk *mine, *chunk;
	uint64_t n;

	for (n = 1; n <= 3; n++)
		chunk_manager_release(manager, get_done(manager, n));
	mine = chunk_manager_reclaim(manager);
	assert_bytes(manager, 3 * CHUNK, 0);
	for (n = 1, chunk = mine; n <= 3; n++, chunk = chunk->next)
		assert_int_equal(chunk->header.range_start, n);
	assert_null(chunk);
	assert_null(chunk_manager_reclaim(manager));
	/* The list begins anew. */
	chunk_manager_release(manager, get_done(manager, 7));
	assert_int_equal(chunk_manager_peek(manager)->header.range_start, 7);
	assert_null(chunk_manager_peek(manager)->next);
	chunk_manager_give_back(manager, mine);
	assert_bytes(manager, 0, CHUNK);
	assert_int_equal(tally.count, 0);
	chunk_manager_close(manager);
}

static void taken_chunks_are_no_longer_counted(void **state)
{
	struct tally tally;
	struct chunk_manager *manager = manager_of(1000 * CHUNK, &tally);
	struct chunk *taken;

	chunk_manager_release(manager, get_done(manager, 1));
	chunk_manager_release(manager, get_done(manager, 101));
	taken = chunk_manager_take_released(manager);
	assert_bytes(manager, 0, 0);
	assert_null(chunk_manager_peek(manager));
	assert_null(chunk_manager_take_released(manager));
	assert_int_equal(taken->header.range_start, 1);
	assert_int_equal(taken->next->header.range_start, 101);
	assert_null(taken->next->next);
	assert_int_equal(tally.count, 0);
	chunk_manager_close(manager);
	chunk_destroy_list(taken);
}

static void forgotten_chunks_are_no_longer_counted(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	struct chunk *lent = get(manager);

	chunk_set_last(lent, get(manager));
	chunk_manager_release(manager, get_done(manager, 201));
	chunk_manager_forget(manager);
	assert_bytes(manager, 0, CHUNK);
	chunk_manager_close(manager);
	chunk_destroy_list(lent);
}

static void a_shrunk_chunk_counts_what_it_is(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK, NULL);
	struct chunk *chunk = get(manager);
	uint64_t index;

	chunk_reserve_initial_tail(chunk, 0);
	chunk->header.range_start = 1;
	chunk_reserve_block(chunk, 30, &index);
	chunk_mark_done(chunk);
	chunk = chunk_manager_shrink(manager, chunk);
	assert_bytes(manager, 30, 0);
	chunk_manager_release(manager, chunk);
	assert_bytes(manager, 0, 30);
	/* It is too small to be used again. */
	chunk_manager_destroy_at_or_before(manager, UINT64_MAX);
	chunk = get(manager);
	assert_int_equal(chunk_manager_get_stats(manager).made, 2);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static int open_get_and_close(void *context)
{
	struct chunk_manager *manager = NULL;
	struct chunk *chunk = NULL;
	const struct chunk_manager_limit_config config = {.max_total_bytes = 1000,
							  .chunk_max_bytes = CHUNK};
	int err = chunk_manager_limit_open(&manager, &config);

	if (err) {
		assert_null(manager);
		return err;
	}
	err = chunk_manager_get(manager, 1, &chunk);
	if (err) {
		assert_null(chunk);
		assert_bytes(manager, 0, 0);
		assert_int_equal(chunk_manager_get_stats(manager).made, 0);
	}
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	assert_int_equal(alloc_fail_each(open_get_and_close, NULL), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_asked_and_has_nothing_released),
		cmocka_unit_test(chunks_of_no_bytes_are_refused),
		cmocka_unit_test(new_and_recycled_chunks_are_empty_and_unlinked),
		cmocka_unit_test(three_rollovers_destroy_the_oldest_and_reuse_memory),
		cmocka_unit_test(what_is_lent_counts_against_the_limit),
		cmocka_unit_test(a_limit_below_one_chunk_keeps_only_what_is_lent),
		cmocka_unit_test(at_most_two_chunks_are_kept),
		cmocka_unit_test(a_hundred_shuffled_releases_end_up_sorted),
		cmocka_unit_test(equal_done_times_keep_the_order_of_arrival),
		cmocka_unit_test(destroying_by_time_takes_that_time_along),
		cmocka_unit_test(w3_reclaiming_moves_the_bytes),
		cmocka_unit_test(taken_chunks_are_no_longer_counted),
		cmocka_unit_test(forgotten_chunks_are_no_longer_counted),
		cmocka_unit_test(a_shrunk_chunk_counts_what_it_is),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
