/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunk_loan.c - what the compressor borrows, and what it brings back. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"
#include "fake_codec.h"

#define LARGE 2048

static void fill_large(const struct room *room, size_t count)
{
	while (count--)
		put(room->buffer, count, LARGE - 2);
}

static void nothing_is_borrowed_before_something_is_released(void **state)
{
	struct chunk_store *store = store_of(100 * LARGE, LARGE);
	struct room room = room_under(store, 1);

	put(room.buffer, 1, 500);
	assert_null(chunk_store_borrow(store, false));
	chunked_buffer_finish(room.buffer); /* 502 bytes are not worth it */
	assert_null(chunk_store_borrow(store, false));
	room_close(&room);
	chunk_store_close(store);
}

static void the_newest_is_borrowed_first_and_each_once(void **state)
{
	struct chunk_store *store = store_of(100 * LARGE, LARGE);
	struct room a = room_under(store, 1), b = room_under(store, 2);
	static const uint64_t wanted_range[] = {1 + 2 * LARGE, 1, 1 + LARGE, 1};
	static const uint32_t wanted_process[] = {1, 2, 1, 1};
	struct chunk *chunks[4];
	size_t n;

	fill_large(&a, 2);
	fill_large(&b, 1);
	fill_large(&a, 1);
	for (n = 0; n < 4; n++) {
		chunks[n] = chunk_store_borrow(store, false);
		assert_non_null(chunks[n]);
		assert_int_equal(chunks[n]->header.process_id, wanted_process[n]);
		assert_int_equal(chunks[n]->header.range_start, wanted_range[n]);
	}
	assert_null(chunk_store_borrow(store, false));
	for (n = 0; n < 4; n++) /* none could be compressed */
		chunk_store_return(store, chunks[n], NULL);
	assert_null(chunk_store_borrow(store, false));
	assert_int_equal(chunk_store_get_stats(store).compressed, 0);
	assert_int_equal(released(store), 4 * LARGE);
	room_close(&a);
	room_close(&b);
	chunk_store_close(store);
}

static void a_replacement_is_counted_for_what_it_occupies(void **state)
{
	const struct chunk_store_config config = {
		.max_bytes = 10 * LARGE,
		.chunk_first_bytes = LARGE,
		.chunk_max_bytes = LARGE,
		.expander = &fake_expander,
	};
	struct chunk_store *store = store_with(&config);
	struct room room = room_under(store, 1);
	struct chunk *chunk;
	size_t n;

	for (n = 0; n < 100; n++) {
		fill_large(&room, 1);
		chunk = chunk_store_borrow(store, false);
		chunk_store_return(store, chunk, fake_compress(chunk));
		assert_true(released(store) <= 10 * LARGE);
	}
	assert_int_equal(chunk_store_get_stats(store).compressed, 100);
	/* Twice as many as without. */
	assert_int_equal(released(store), 18 * LARGE / 2);
	assert_int_equal(count_blocks(room.buffer), 18);
	room_close(&room);
	chunk_store_close(store);
}

/* The chunks of the room begin at these positions, oldest first. */
static void assert_ranges(const struct room *room, const uint64_t *ranges, size_t count)
{
	const struct chunk *chunk = first_chunk(room->buffer);
	size_t n;

	for (n = 0; n < count; n++, chunk = next_chunk(chunk))
		assert_int_equal(chunk->header.range_start, ranges[n]);
	assert_null(chunk);
}

/* In any order, among the chunks of its owner and of all; and the neighbours find each other when the oldest goes. */
static void a_replacement_takes_the_place_of_its_chunk(void **state)
{
	static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const uint64_t ranges[] = {1, 1 + LARGE, 1 + 2 * LARGE};
	size_t order, n;

	for (order = 0; order < 6; order++) {
		struct chunk_store *store = store_of(100 * LARGE, LARGE);
		struct room a = room_under(store, 1), b = room_under(store, 2);
		struct chunk *chunks[3];

		fill_large(&a, 1);
		fill_large(&b, 1);
		fill_large(&a, 1);
		for (n = 0; n < 3; n++)
			chunks[n] = chunk_store_borrow(store, false);
		for (n = 0; n < 3; n++) {
			struct chunk *chunk = chunks[orders[order][n]];

			chunk_store_return(store, chunk, fake_compress(chunk));
			assert_ranges(&a, ranges, 2);
			assert_ranges(&b, ranges, 1);
		}
		destroy_oldest(store);
		assert_ranges(&a, ranges + 1, 1);
		assert_ranges(&b, ranges, 1);
		fill_large(&a, 1);
		destroy_oldest(store);
		assert_ranges(&a, ranges + 1, 2);
		assert_ranges(&b, ranges, 0);
		destroy_oldest(store);
		assert_ranges(&a, ranges + 2, 1);
		assert_int_equal(count_blocks(a.buffer), 1);
		room_close(&a);
		room_close(&b);
		chunk_store_close(store);
	}
}

static void what_is_destroyed_while_it_is_borrowed_is_freed_by_the_return(void **state)
{
	struct chunk_store *store = store_of(100 * LARGE, LARGE);
	struct room room = room_under(store, 1);
	struct chunk *first, *second;

	fill_large(&room, 2);
	first = chunk_store_borrow(store, false);
	second = chunk_store_borrow(store, false);
	destroy_oldest(store);
	destroy_oldest(store);
	assert_int_equal(released(store), 0);
	assert_int_equal(first->header.process_id, 1); /* still readable */
	chunk_store_return(store, first, fake_compress(first));
	room_close(&room);
	assert_int_equal(second->header.process_id, 1); /* even without its owner */
	chunk_store_return(store, second, NULL);
	assert_int_equal(chunk_store_get_stats(store).compressed, 0);
	chunk_store_close(store);
}

static void what_is_borrowed_when_its_buffer_closes_is_freed_by_the_return(void **state)
{
	struct chunk_store *store = store_of(100 * LARGE, LARGE);
	struct room room = room_under(store, 1);
	struct chunk *chunk;

	fill_large(&room, 2);
	chunk = chunk_store_borrow(store, false);
	room_close(&room);
	assert_null(chunk_store_borrow(store, false)); /* what waited went with its buffer */
	assert_bytes(store, 0, 0);
	chunk_store_return(store, chunk, fake_compress(chunk));
	assert_bytes(store, 0, 0);
	chunk_store_close(store);
}

static void nothing_is_borrowed_while_paused_or_after_the_stop(void **state)
{
	struct chunk_store *store = store_of(100 * LARGE, LARGE);
	struct room room = room_under(store, 1);
	struct chunk *chunk;

	fill_large(&room, 2);
	chunk_store_pause(store);
	chunk_store_pause(store);
	assert_null(chunk_store_borrow(store, false));
	chunk_store_resume(store);
	assert_null(chunk_store_borrow(store, false));
	chunk_store_resume(store);
	chunk = chunk_store_borrow(store, true);
	assert_non_null(chunk);
	chunk_store_return(store, chunk, NULL);
	chunk_store_stop(store);
	assert_null(chunk_store_borrow(store, true));
	assert_null(chunk_store_borrow(store, false));
	room_close(&room);
	chunk_store_close(store);
}

/* Nothing is remembered of a chunk but the chunk, and room is made without any. */
static void a_chunk_is_one_allocation(void **state)
{
	struct chunk_store *store = store_of(1000 * CHUNK, CHUNK);
	struct room room = room_under(store, 1);
	size_t before = alloc_count(), n;

	for (n = 0; n < 500; n++)
		put(room.buffer, n, CHUNK - 1);
	assert_int_equal(chunk_store_get_stats(store).made, 500);
	assert_int_equal(alloc_count() - before, 500);
	room_close(&room);
	chunk_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_borrowed_before_something_is_released),
		cmocka_unit_test(the_newest_is_borrowed_first_and_each_once),
		cmocka_unit_test(a_replacement_is_counted_for_what_it_occupies),
		cmocka_unit_test(a_replacement_takes_the_place_of_its_chunk),
		cmocka_unit_test(what_is_destroyed_while_it_is_borrowed_is_freed_by_the_return),
		cmocka_unit_test(what_is_borrowed_when_its_buffer_closes_is_freed_by_the_return),
		cmocka_unit_test(nothing_is_borrowed_while_paused_or_after_the_stop),
		cmocka_unit_test(a_chunk_is_one_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
