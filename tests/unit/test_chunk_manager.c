/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_manager.c - the one limit: who gets chunks, and which go first. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager.h"

#define CHUNK 100

/* An owner that counts what it is told. */
struct witness {
	struct chunk_owner owner;
	size_t count;
	uint64_t bytes;
	uint64_t last_range_start;
	uint32_t last_state;
};

static void on_destroy(void *context, const struct chunk *chunk)
{
	struct witness *witness = context;

	witness->count++;
	witness->bytes += chunk->header.buffer_bytes;
	witness->last_range_start = chunk->header.range_start;
	witness->last_state = chunk->header.state;
}

static void witness_init(struct witness *witness)
{
	*witness = (struct witness){.owner = {on_destroy, witness}};
}

static struct chunk_manager *manager_of(uint64_t max_bytes)
{
	struct chunk_manager *manager = NULL;

	assert_int_equal(chunk_manager_open(&manager, max_bytes, CHUNK), 0);
	return manager;
}

static struct chunk *get(struct chunk_manager *manager)
{
	struct chunk *chunk = NULL;

	assert_int_equal(chunk_manager_get(manager, &chunk), 0);
	return chunk;
}

static struct chunk *get_done(struct chunk_manager *manager, struct witness *witness,
			      uint64_t range_start)
{
	struct chunk *chunk = get(manager);

	chunk_reserve_initial_tail(chunk, 0);
	chunk->header.range_start = range_start;
	chunk->owner = witness ? &witness->owner : NULL;
	chunk_mark_done(chunk);
	return chunk;
}

static void assert_bytes(const struct chunk_manager *manager, uint64_t unreleased,
			 uint64_t released)
{
	struct chunk_manager_stats stats = chunk_manager_get_stats(manager);

	assert_int_equal(stats.unreleased_bytes, unreleased);
	assert_int_equal(stats.released_bytes, released);
}

static void it_is_as_asked_and_has_nothing_released(void **state)
{
	struct chunk_manager *manager = manager_of(1000);

	assert_int_equal(chunk_manager_max_bytes(manager), 1000);
	assert_int_equal(chunk_manager_chunk_bytes(manager), CHUNK);
	assert_null(chunk_manager_peek(manager));
	chunk_manager_release(manager, NULL);
	chunk_manager_give_back(manager, NULL);
	chunk_manager_forget(manager, NULL);
	assert_null(chunk_manager_peek(manager));
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
	chunk_manager_close(NULL);
}

static void chunks_of_no_bytes_are_refused(void **state)
{
	struct chunk_manager *manager = NULL;

	assert_int_equal(chunk_manager_open(&manager, 1000, 0), -EINVAL);
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
	assert_null(chunk->owner);
}

static void new_and_recycled_chunks_are_empty_and_unlinked(void **state)
{
	struct chunk_manager *manager = manager_of(1000);
	struct witness witness;
	struct chunk *chunk;

	witness_init(&witness);
	chunk = get(manager);
	assert_fresh(chunk, CHUNK_CREATED);
	chunk_manager_give_back(manager, chunk);
	chunk = get_done(manager, &witness, 1);
	chunk_manager_give_back(manager, chunk);
	chunk = get(manager);
	assert_fresh(chunk, CHUNK_RECYCLED);
	assert_int_equal(witness.count, 0); /* what is given back was not released */
	assert_bytes(manager, CHUNK, 0);
	chunk_manager_give_back(manager, chunk);
	assert_bytes(manager, 0, 0);
	chunk_manager_close(manager);
}

static void three_rollovers_destroy_the_oldest_and_reuse_memory(void **state)
{
	struct chunk_manager *manager = manager_of(10 * CHUNK);
	struct chunk *first = get(manager);
	struct chunk_manager_stats stats;
	struct witness witness;
	size_t reused = 0;
	uint64_t n;

	witness_init(&witness);
	chunk_manager_give_back(manager, first);
	for (n = 1; n <= 30; n++) {
		struct chunk *chunk = get_done(manager, &witness, n);

		reused += chunk == first;
		chunk_manager_release(manager, chunk);
		assert_int_equal(witness.count, n < 10 ? 0 : n - 9);
		assert_int_equal(witness.last_range_start, witness.count);
		assert_bytes(manager, 0, (n < 9 ? n : 9) * CHUNK);
	}
	assert_int_equal(witness.bytes, 21 * CHUNK);
	assert_int_equal(witness.last_state, CHUNK_DONE);
	assert_true(reused >= 2);
	stats = chunk_manager_get_stats(manager);
	assert_int_equal(stats.destroyed, 21);
	assert_int_equal(stats.made, 9);
	assert_int_equal(stats.recycled, 22);
	chunk_manager_close(manager);
	assert_int_equal(witness.count, 21);
}

static void the_oldest_goes_first_whoever_owns_it(void **state)
{
	struct chunk_manager *manager = manager_of(5 * CHUNK);
	struct witness a, b;
	struct chunk *chunk;

	witness_init(&a);
	witness_init(&b);
	chunk_manager_release(manager, get_done(manager, &a, 11));
	chunk_manager_release(manager, get_done(manager, &b, 21));
	chunk_manager_release(manager, get_done(manager, &b, 22));
	chunk_manager_release(manager, get_done(manager, &a, 12));
	assert_int_equal(a.count + b.count, 0);
	chunk_manager_release(manager, get_done(manager, &b, 23));
	assert_int_equal(a.last_range_start, 11);
	chunk_manager_release(manager, get_done(manager, &b, 24));
	assert_int_equal(b.last_range_start, 21);
	chunk = get(manager);
	assert_int_equal(b.last_range_start, 22);
	assert_int_equal(a.count, 1);
	assert_int_equal(b.count, 2);
	chunk_manager_give_back(manager, chunk);
	chunk_manager_close(manager);
}

static void what_is_lent_counts_against_the_limit(void **state)
{
	struct chunk_manager *manager = manager_of(4 * CHUNK);
	struct chunk *lent = get(manager);
	struct witness witness;

	witness_init(&witness);
	chunk_set_last(lent, get(manager));
	chunk_manager_release(manager, get_done(manager, &witness, 1));
	chunk_set_last(lent, get(manager));
	assert_int_equal(witness.count, 1);
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
	struct chunk_manager *manager = manager_of(CHUNK / 2);
	struct witness witness;
	uint64_t n;

	witness_init(&witness);
	for (n = 1; n <= 5; n++) {
		struct chunk *chunk = get_done(manager, &witness, n);

		assert_int_equal(witness.count, n - 1);
		assert_bytes(manager, CHUNK, 0);
		chunk_manager_release(manager, chunk);
	}
	assert_int_equal(chunk_manager_get_stats(manager).made, 1);
	chunk_manager_close(manager);
}

static void at_most_two_chunks_are_kept(void **state)
{
	struct chunk_manager *manager = manager_of(100 * CHUNK);
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
	struct chunk_manager *manager = manager_of(1000 * CHUNK);
	const struct chunk *listed;
	struct chunk *chunks[100];
	size_t n, count;

	for (n = 0; n < 100; n++) {
		chunks[n] = get_done(manager, NULL, n + 1);
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
	struct chunk_manager *manager = manager_of(1000 * CHUNK);
	static const uint64_t times[] = {7, 5, 5, 7, 6, 5};
	static const uint64_t wanted[] = {2, 3, 6, 5, 1, 4};
	const struct chunk *listed;
	struct chunk *chunks[6];
	size_t n;

	for (n = 0; n < 6; n++) {
		chunks[n] = get_done(manager, NULL, n + 1);
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
	struct chunk_manager *manager = manager_of(1000 * CHUNK);
	struct witness witness;
	uint64_t n;

	witness_init(&witness);
	for (n = 1; n <= 5; n++) {
		struct chunk *chunk = get_done(manager, &witness, n);

		chunk->header.done_ns = n * 10;
		chunk_manager_release(manager, chunk);
	}
	chunk_manager_destroy_at_or_before(manager, 9);
	assert_int_equal(witness.count, 0);
	chunk_manager_destroy_at_or_before(manager, 30);
	assert_int_equal(witness.count, 3);
	assert_int_equal(chunk_manager_peek(manager)->header.range_start, 4);
	assert_bytes(manager, 0, 2 * CHUNK);
	chunk_manager_close(manager);
}

static void reclaiming_takes_one_owners_chunks_and_moves_their_bytes(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK);
	struct chunk *mine, *chunk;
	struct witness a, b;
	uint64_t n;

	witness_init(&a);
	witness_init(&b);
	for (n = 1; n <= 6; n++)
		chunk_manager_release(manager, get_done(manager, n % 2 ? &a : &b, n));
	mine = chunk_manager_reclaim(manager, &b.owner);
	assert_bytes(manager, 3 * CHUNK, 3 * CHUNK);
	for (n = 2, chunk = mine; n <= 6; n += 2, chunk = chunk->next)
		assert_int_equal(chunk->header.range_start, n);
	assert_null(chunk);
	assert_null(chunk_manager_reclaim(manager, &b.owner));
	/* The end of the list moved. */
	chunk_manager_release(manager, get_done(manager, &a, 7));
	for (n = 1, chunk = (struct chunk *)chunk_manager_peek(manager); n <= 7; n += 2) {
		assert_int_equal(chunk->header.range_start, n);
		chunk = chunk->next;
	}
	assert_null(chunk);
	chunk_manager_give_back(manager, mine);
	assert_int_equal(a.count + b.count, 0);
	chunk_manager_close(manager);
}

static void forgotten_chunks_are_no_longer_counted(void **state)
{
	struct chunk_manager *manager = manager_of(1000 * CHUNK);
	struct chunk *taken = get_done(manager, NULL, 1);
	struct chunk *lent = get(manager);

	chunk_set_last(taken, get_done(manager, NULL, 101));
	chunk_manager_release(manager, get_done(manager, NULL, 201));
	chunk_manager_forget(manager, taken);
	assert_bytes(manager, CHUNK, CHUNK);
	chunk_manager_give_back(manager, lent);
	chunk_manager_close(manager);
	chunk_destroy(chunk_release_next(taken));
	chunk_destroy(taken);
}

static int open_get_and_close(void *context)
{
	struct chunk_manager *manager = NULL;
	struct chunk *chunk = NULL;
	int err = chunk_manager_open(&manager, 1000, CHUNK);

	if (err) {
		assert_null(manager);
		return err;
	}
	err = chunk_manager_get(manager, &chunk);
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
	assert_int_equal(alloc_fail_each(open_get_and_close, NULL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_asked_and_has_nothing_released),
		cmocka_unit_test(chunks_of_no_bytes_are_refused),
		cmocka_unit_test(new_and_recycled_chunks_are_empty_and_unlinked),
		cmocka_unit_test(three_rollovers_destroy_the_oldest_and_reuse_memory),
		cmocka_unit_test(the_oldest_goes_first_whoever_owns_it),
		cmocka_unit_test(what_is_lent_counts_against_the_limit),
		cmocka_unit_test(a_limit_below_one_chunk_keeps_only_what_is_lent),
		cmocka_unit_test(at_most_two_chunks_are_kept),
		cmocka_unit_test(a_hundred_shuffled_releases_end_up_sorted),
		cmocka_unit_test(equal_done_times_keep_the_order_of_arrival),
		cmocka_unit_test(destroying_by_time_takes_that_time_along),
		cmocka_unit_test(reclaiming_takes_one_owners_chunks_and_moves_their_bytes),
		cmocka_unit_test(forgotten_chunks_are_no_longer_counted),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
