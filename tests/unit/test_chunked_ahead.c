/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_ahead.c - the next chunk is asked for in time, sizes grow, and what ended is cut down. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"

static void a_buffer_that_is_hardly_used_holds_one_chunk(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, CHUNK / 2 - 1); /* just half */
	chunk_store_fulfil(room.store);
	assert_int_equal(lent(room.store), CHUNK);
	put(room.buffer, 2, 1);
	assert_int_equal(lent(room.store), CHUNK); /* asked for, not served */
	chunk_store_fulfil(room.store);
	assert_int_equal(lent(room.store), 2 * CHUNK);
	chunk_store_fulfil(room.store); /* once a chunk */
	put(room.buffer, 3, 1);
	chunk_store_fulfil(room.store);
	assert_int_equal(lent(room.store), 2 * CHUNK);
	room_close(&room);
}

static void the_chunk_that_was_asked_for_is_used_without_an_allocation(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	size_t allocations, n;

	put(room.buffer, 0, 99);
	chunk_store_fulfil(room.store);
	allocations = alloc_count();
	put(room.buffer, 1, 99); /* straddles */
	assert_int_equal(alloc_count(), allocations);
	assert_int_equal(lent(room.store), CHUNK);
	assert_int_equal(count_blocks(room.buffer), 2);
	for (n = 0; n < 20; n++) {
		chunk_store_fulfil(room.store);
		allocations = alloc_count();
		put(room.buffer, n, 50);
		assert_int_equal(alloc_count(), allocations);
	}
	room_close(&room);
}

static void a_put_that_finds_no_next_chunk_fulfils_by_itself(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	put(room.buffer, 2, 99);
	put(room.buffer, 3, 99);
	assert_int_equal(count_blocks(room.buffer), 3);
	assert_int_equal(chunk_store_get_stats(room.store).made, 3);
	room_close(&room);
}

static void when_a_request_was_answered_with_nothing_the_put_tries_again(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	alloc_fail_at(1);
	chunk_store_fulfil(room.store);
	assert_true(alloc_fail_stop());
	assert_int_equal(lent(room.store), CHUNK);
	put(room.buffer, 2, 99);
	assert_int_equal(count_blocks(room.buffer), 2);
	room_close(&room);
}

static void closing_takes_the_request_back(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	chunked_buffer_close(room.buffer);
	chunk_store_fulfil(room.store); /* (would write into freed memory) */
	assert_int_equal(lent(room.store), 0);
	chunk_store_close(room.store);
}

static void chunks_grow_and_a_large_block_finds_room(void **state)
{
	const struct chunk_store_config config = {
		.max_bytes = 1 << 20, .chunk_first_bytes = 64, .chunk_max_bytes = 256};
	struct room room = room_under(store_with(&config), 42);
	const struct chunk *chunk;
	struct block_view block;
	uint64_t at;
	size_t n;

	for (n = 0; n < 100; n++)
		put(room.buffer, n, 9);
	chunk = first_chunk(room.buffer);
	assert_int_equal(chunk->header.buffer_bytes, 64);
	chunk = next_chunk(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 128);
	chunk = next_chunk(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 256);
	chunk = next_chunk(chunk);
	assert_int_equal(chunk->header.buffer_bytes, 256);
	at = put(room.buffer, 7, 60000);
	put(room.buffer, 8, 3);
	assert_int_equal(read_at(room.buffer, at, &block), 0);
	assert_block(&block, 7, 60000);
	assert_int_equal(count_blocks(room.buffer), 102);
	room.is_alone = true;
	room_close(&room);
}

static void the_first_block_of_all_may_be_a_large_one(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	assert_int_equal(put(room.buffer, 7, 1000), 1);
	assert_int_equal(put(room.buffer, 8, 3), 1003);
	assert_int_equal(count_blocks(room.buffer), 2);
	room_close(&room);
}

/* A tail that fills the chunk that was made for it. */
static void a_tail_may_fill_its_chunk(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	struct block_view block;
	uint64_t at;

	put(room.buffer, 1, 99);
	at = put(room.buffer, 2, 1000); /* 28 here, 974 there */
	assert_true(chunked_buffer_starts_chunk(room.buffer));
	assert_bytes(room.store, 0, CHUNK + 974);
	chunk_store_fulfil(room.store); /* the request was for the chunk that was fetched at once */
	assert_int_equal(lent(room.store), 0);
	assert_int_equal(put(room.buffer, 3, 5), at + 1002);
	assert_int_equal(lent(room.store), CHUNK);
	assert_int_equal(read_at(room.buffer, at, &block), 0);
	assert_block(&block, 2, 1000);
	assert_int_equal(count_blocks(room.buffer), 3);
	room_close(&room);
}

static void a_next_chunk_that_is_too_small_is_used_after_the_large_one(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	size_t allocations;
	uint64_t at;

	put(room.buffer, 1, 99);
	chunk_store_fulfil(room.store);
	assert_int_equal(lent(room.store), 2 * CHUNK);
	at = put(room.buffer, 2, 1000);
	assert_bytes(room.store, CHUNK, CHUNK + 974);
	allocations = alloc_count();
	assert_int_equal(put(room.buffer, 3, 5), at + 1002);
	assert_int_equal(alloc_count(), allocations);
	assert_int_equal(lent(room.store), CHUNK);
	assert_int_equal(count_blocks(room.buffer), 3);
	room_close(&room);
}

static void finishing_cuts_the_chunk_down_to_what_is_used(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	chunk_store_fulfil(room.store);
	chunked_buffer_finish(room.buffer);
	assert_bytes(room.store, 0, 100);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 101, 1, 0, 0, 0});
	chunked_buffer_finish(room.buffer);
	assert_int_equal(chunk_store_get_stats(room.store).released_bytes, 100);
	assert_true(chunked_buffer_starts_chunk(room.buffer));
	/* What comes late begins a new chunk, without a hole. */
	assert_int_equal(put(room.buffer, 2, 5), 101);
	assert_int_equal(count_blocks(room.buffer), 2);
	assert_int_equal(first_chunk(room.buffer)->header.range_start, 1);
	room_close(&room);
}

static void finishing_keeps_the_tail_of_a_straddling_block(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	struct block_view block;
	uint64_t at;

	put(room.buffer, 1, 99);
	at = put(room.buffer, 2, 99);
	chunked_buffer_finish(room.buffer);
	put(room.buffer, 3, 9);
	assert_int_equal(read_at(room.buffer, at, &block), 0);
	assert_block(&block, 2, 99);
	assert_int_equal(last_index(room.buffer, 9), 201);
	assert_int_equal(count_blocks(room.buffer), 3);
	room_close(&room);
}

static void finishing_what_has_nothing_is_fine(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	chunked_buffer_finish(room.buffer);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 1, 0, 0, 0, 0});
	chunked_buffer_finish(room.buffer);
	room_close(&room);
}

static void finishing_takes_the_request_back(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	chunked_buffer_finish(room.buffer);
	chunk_store_fulfil(room.store);
	assert_int_equal(lent(room.store), 0);
	room_close(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_buffer_that_is_hardly_used_holds_one_chunk),
		cmocka_unit_test(the_chunk_that_was_asked_for_is_used_without_an_allocation),
		cmocka_unit_test(a_put_that_finds_no_next_chunk_fulfils_by_itself),
		cmocka_unit_test(when_a_request_was_answered_with_nothing_the_put_tries_again),
		cmocka_unit_test(closing_takes_the_request_back),
		cmocka_unit_test(chunks_grow_and_a_large_block_finds_room),
		cmocka_unit_test(the_first_block_of_all_may_be_a_large_one),
		cmocka_unit_test(a_tail_may_fill_its_chunk),
		cmocka_unit_test(a_next_chunk_that_is_too_small_is_used_after_the_large_one),
		cmocka_unit_test(finishing_cuts_the_chunk_down_to_what_is_used),
		cmocka_unit_test(finishing_keeps_the_tail_of_a_straddling_block),
		cmocka_unit_test(finishing_what_has_nothing_is_fine),
		cmocka_unit_test(finishing_takes_the_request_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
