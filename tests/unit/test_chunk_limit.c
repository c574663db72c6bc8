/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_limit.c - one limit for the buffers of all processes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"

#define KIB 1024ULL

static struct chunk_store *default_store(uint64_t max_bytes)
{
	return store_with(&(struct chunk_store_config){.max_bytes = max_bytes});
}

static struct chunk_store_stats stats_of(struct chunk_store *store)
{
	return chunk_store_get_stats(store);
}

/* ---- sizes ------------------------------------------------------------------- */

static void assert_chunk_max(uint64_t max_bytes, uint32_t wanted)
{
	struct chunk_store *store = default_store(max_bytes);

	assert_int_equal(stats_of(store).max_bytes, max_bytes);
	assert_int_equal(stats_of(store).chunk_max_bytes, wanted);
	chunk_store_close(store);
}

static void chunks_are_a_sixteenth_of_the_limit_between_4_and_256_KiB(void **state)
{
	assert_chunk_max(1 << 30, 256 * KIB);
	assert_chunk_max(128 << 20, 256 * KIB);
	assert_chunk_max(4 << 20, 256 * KIB);
	assert_chunk_max((4 << 20) - 1, 128 * KIB);
	assert_chunk_max(1 << 20, 64 * KIB);
	assert_chunk_max(100 * KIB, 4 * KIB);
	assert_chunk_max(16 * KIB, 4 * KIB);
}

static void a_small_limit_still_holds_four_chunks(void **state)
{
	assert_chunk_max(16 * KIB - 1, 2 * KIB);
	assert_chunk_max(8 * KIB, 2 * KIB);
	assert_chunk_max(1000, 128);
	assert_chunk_max(10, 64);
	assert_chunk_max(0, 64);
}

static void the_more_processes_put_the_smaller_the_chunks(void **state)
{
	struct chunk_store *store = default_store(16 << 20);
	struct room rooms[100];
	size_t n;

	for (n = 0; n < 100; n++)
		rooms[n] = room_under(store, (uint32_t)n);
	assert_int_equal(stats_of(store).owners, 100);
	assert_int_equal(stats_of(store).live, 0);
	assert_int_equal(stats_of(store).chunk_max_bytes, 256 * KIB);
	for (n = 0; n < 100; n++)
		put(rooms[n].buffer, n, 5);
	assert_int_equal(stats_of(store).live, 100);
	assert_int_equal(stats_of(store).chunk_max_bytes, 8 * KIB);
	for (n = 0; n < 98; n++)
		chunked_buffer_finish(rooms[n].buffer);
	assert_int_equal(stats_of(store).live, 2);
	assert_int_equal(stats_of(store).chunk_max_bytes, 256 * KIB);
	for (n = 0; n < 100; n++)
		room_close(&rooms[n]);
	assert_int_equal(stats_of(store).owners + stats_of(store).live, 0);
	chunk_store_close(store);
}

static void a_process_begins_with_a_64th_of_its_share_and_doubles(void **state)
{
	struct chunk_store *store = default_store(16 << 20);
	struct room room = room_under(store, 1);
	uint64_t made = 0, bytes = 0, seed;

	for (seed = 0; seed < 20000; seed++) {
		put(room.buffer, seed, 60);
		if (stats_of(store).made == made)
			continue;
		made = stats_of(store).made;
		/* The share of one process is a 16th of the limit: 1 MiB; its chunks stop at 256 KiB. */
		bytes += made < 5 ? 16 * KIB << (made - 1) : 256 * KIB;
		assert_int_equal(lent(store) + released(store), bytes);
	}
	assert_int_equal(made, 8);
	room_close(&room);
	chunk_store_close(store);
}

static void short_lived_processes_cost_what_they_put(void **state)
{
	struct chunk_store *store = default_store(16 << 20);
	static struct room rooms[3000];
	size_t n;

	for (n = 0; n < 3000; n++) {
		rooms[n] = room_under(store, (uint32_t)n);
		put(rooms[n].buffer, n, 99);
		chunk_store_fulfil(store);
		chunked_buffer_finish(rooms[n].buffer);
	}
	assert_int_equal(lent(store), 0);
	assert_int_equal(released(store), 3000 * 100);
	assert_int_equal(stats_of(store).destroyed, 0);
	for (n = 0; n < 3000; n++) {
		assert_int_equal(count_blocks(rooms[n].buffer), 1);
		room_close(&rooms[n]);
	}
	chunk_store_close(store);
}

/* ---- the limit ------------------------------------------------------------------ */

static uint64_t range_start(const struct room *room)
{
	return chunked_buffer_get_state(room->buffer).range_start;
}

static void fill_chunks(const struct room *room, size_t count)
{
	while (count--)
		put(room->buffer, count, CHUNK - 1);
}

static void the_oldest_chunk_of_any_process_goes_first(void **state)
{
	struct chunk_store *store = store_of(6 * CHUNK, CHUNK);
	struct room a = room_under(store, 1), b = room_under(store, 2);

	fill_chunks(&a, 1);
	fill_chunks(&b, 2);
	fill_chunks(&a, 2); /* a b b a a */
	assert_int_equal(stats_of(store).destroyed, 0);
	fill_chunks(&b, 1);
	assert_int_equal(range_start(&a), 1 + CHUNK);
	assert_int_equal(range_start(&b), 1);
	fill_chunks(&a, 2);
	assert_int_equal(range_start(&a), 1 + CHUNK);
	assert_int_equal(range_start(&b), 1 + 2 * CHUNK);
	fill_chunks(&b, 1);
	assert_int_equal(range_start(&a), 1 + 2 * CHUNK);
	assert_int_equal(range_start(&b), 1 + 2 * CHUNK);
	assert_int_equal(stats_of(store).destroyed, 4);
	room_close(&a);
	room_close(&b);
	chunk_store_close(store);
}

/* W3, for all processes at a time. */
static void the_limit_holds_whatever_processes_do(void **state)
{
	struct chunk_store *store = store_of(64 * CHUNK, CHUNK);
	struct room rooms[10];
	uint64_t random = 4711;
	size_t n;

	for (n = 0; n < 10; n++)
		rooms[n] = room_under(store, (uint32_t)n);
	for (n = 0; n < 20000; n++) {
		struct chunk_store_stats stats;
		struct room *room;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		room = &rooms[(random >> 33) % 10];
		put(room->buffer, n, 1 + (random >> 40) % 60);
		if (n % 7 == 0)
			chunk_store_fulfil(store);
		if (n % 101 == 0)
			chunked_buffer_finish(room->buffer);
		if (n % 1009 == 0) {
			room_close(room);
			*room = room_under(store, 42);
		}
		stats = stats_of(store);
		assert_true(stats.unreleased_bytes + stats.released_bytes <= 64 * CHUNK);
	}
	assert_true(stats_of(store).destroyed > 1000);
	assert_true(stats_of(store).recycled > stats_of(store).made);
	for (n = 0; n < 10; n++)
		room_close(&rooms[n]);
	assert_int_equal(lent(store), 0);
	assert_int_equal(released(store), 0);
	chunk_store_close(store);
}

static void a_limit_below_one_chunk_keeps_what_is_being_filled(void **state)
{
	struct chunk_store *store = store_of(1, CHUNK);
	struct room a = room_under(store, 1), b = room_under(store, 2);
	size_t n;

	for (n = 0; n < 100; n++) {
		put(a.buffer, n, 20);
		assert_true(count_blocks(a.buffer) >= 1);
		put(b.buffer, n, 20);
		assert_true(count_blocks(b.buffer) >= 1);
		assert_true(released(store) <= 2 * CHUNK);
	}
	room_close(&a);
	room_close(&b);
	chunk_store_close(store);
}

static void what_others_use_counts_against_the_limit(void **state)
{
	struct chunk_store *store = store_of(10 * CHUNK, CHUNK);
	struct room room = room_under(store, 1);

	fill_chunks(&room, 8);
	assert_int_equal(released(store), 8 * CHUNK);
	chunk_store_set_extra(store, 5 * CHUNK);
	assert_int_equal(stats_of(store).extra_bytes, 5 * CHUNK);
	assert_int_equal(released(store), 4 * CHUNK);
	fill_chunks(&room, 8);
	assert_int_equal(released(store), 4 * CHUNK);
	chunk_store_set_extra(store, 100 * CHUNK);
	assert_int_equal(released(store), 0);
	chunk_store_set_extra(store, 0);
	fill_chunks(&room, 20);
	assert_int_equal(released(store), 9 * CHUNK);
	room_close(&room);
	chunk_store_close(store);
}

/* With the heap against a search through all, and processes that come and go. */
static void the_oldest_is_found_among_many_processes(void **state)
{
	struct chunk_store *store = store_of(1000 * CHUNK, CHUNK);
	static struct room rooms[300];
	uint64_t random = 99;
	size_t n, i;

	for (i = 0; i < 300; i++)
		rooms[i] = room_under(store, (uint32_t)i);
	for (n = 0; n < 3000; n++) {
		uint64_t oldest = UINT64_MAX, gone;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		i = (random >> 33) % 300;
		if (n % 50 == 0) {
			room_close(&rooms[i]);
			rooms[i] = room_under(store, (uint32_t)i);
		}
		fill_chunks(&rooms[i], 1);
		if (released(store) < 900 * CHUNK)
			continue;
		for (i = 0; i < 300; i++) {
			const struct chunk *chunk = first_chunk(rooms[i].buffer);

			if (chunk && chunk->header.done_ns < oldest)
				oldest = chunk->header.done_ns;
		}
		gone = released(store);
		chunk_store_set_extra(store, 1000 * CHUNK - gone);
		assert_int_equal(released(store), gone - CHUNK);
		chunk_store_set_extra(store, 0);
		for (i = 0; i < 300; i++) {
			const struct chunk *chunk = first_chunk(rooms[i].buffer);

			assert_true(!chunk || chunk->header.done_ns > oldest);
		}
	}
	for (i = 0; i < 300; i++)
		room_close(&rooms[i]);
	chunk_store_close(store);
}

/* Whichever process it went from; what goes with a buffer that is closed does not count. */
static void what_was_put_after_the_newest_that_went_is_complete(void **state)
{
	struct chunk_store *store = store_of(100 * CHUNK, CHUNK);
	struct room a = room_under(store, 1), b = room_under(store, 2);
	uint64_t a_done, b_done;

	fill_chunks(&a, 2);
	fill_chunks(&b, 2);
	a_done = next_chunk(first_chunk(a.buffer))->header.done_ns;
	b_done = first_chunk(b.buffer)->header.done_ns;
	assert_int_equal(chunk_store_complete_since_ns(store), 0);
	chunk_store_set_extra(store, 97 * CHUNK); /* room for less than three */
	assert_int_equal(released(store), 2 * CHUNK);
	assert_int_equal(chunk_store_complete_since_ns(store), a_done);
	chunk_store_set_extra(store, 0);
	assert_int_equal(chunk_store_complete_since_ns(store), a_done);
	chunk_store_set_extra(store, 98 * CHUNK);
	assert_int_equal(chunk_store_complete_since_ns(store), b_done);
	room_close(&b);
	assert_int_equal(chunk_store_complete_since_ns(store), b_done);
	room_close(&a);
	chunk_store_close(store);
}

/* ---- requests ------------------------------------------------------------------- */

static void fulfil_serves_all_that_wait(void **state)
{
	struct chunk_store *store = store_of(1000 * CHUNK, CHUNK);
	struct room rooms[5];
	size_t n, allocations;

	for (n = 0; n < 5; n++) {
		rooms[n] = room_under(store, (uint32_t)n);
		put(rooms[n].buffer, n, 99);
	}
	assert_int_equal(stats_of(store).made, 5);
	room_close(&rooms[3]); /* waits no longer */
	chunked_buffer_finish(rooms[1].buffer);
	chunk_store_fulfil(store);
	assert_int_equal(lent(store), 6 * CHUNK);
	allocations = alloc_count();
	chunk_store_fulfil(store);
	put(rooms[0].buffer, n, 99);
	put(rooms[2].buffer, n, 99);
	put(rooms[4].buffer, n, 99);
	assert_int_equal(alloc_count(), allocations);
	for (n = 0; n < 5; n++) {
		if (n != 3)
			room_close(&rooms[n]);
	}
	chunk_store_close(store);
}

/* ---- no memory ------------------------------------------------------------------ */

static int put_in_three(void *context)
{
	struct chunk_store *store = NULL;
	struct chunked_buffer *buffers[3] = {NULL};
	const struct chunk_store_config config = {
		.max_bytes = 50 * CHUNK, .chunk_first_bytes = CHUNK, .chunk_max_bytes = CHUNK};
	int err = chunk_store_open(&store, &config);
	size_t n;

	for (n = 0; n < 3 && !err; n++)
		err = chunked_buffer_open(&buffers[n], store, (uint32_t)n);
	for (n = 0; n < 200 && !err; n++)
		err = put_seeded(buffers[n % 3], n, 20);
	for (n = 0; n < 3; n++)
		chunked_buffer_close(buffers[n]);
	chunk_store_close(store);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	/* Store, three buffers of 11 chunks each. */
	assert_int_equal(alloc_fail_each(put_in_three, NULL), 37);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_a_sixteenth_of_the_limit_between_4_and_256_KiB),
		cmocka_unit_test(a_small_limit_still_holds_four_chunks),
		cmocka_unit_test(the_more_processes_put_the_smaller_the_chunks),
		cmocka_unit_test(a_process_begins_with_a_64th_of_its_share_and_doubles),
		cmocka_unit_test(short_lived_processes_cost_what_they_put),
		cmocka_unit_test(the_oldest_chunk_of_any_process_goes_first),
		cmocka_unit_test(the_limit_holds_whatever_processes_do),
		cmocka_unit_test(a_limit_below_one_chunk_keeps_what_is_being_filled),
		cmocka_unit_test(what_others_use_counts_against_the_limit),
		cmocka_unit_test(the_oldest_is_found_among_many_processes),
		cmocka_unit_test(what_was_put_after_the_newest_that_went_is_complete),
		cmocka_unit_test(fulfil_serves_all_that_wait),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
