/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_single.c - a buffer in one chunk, and what goes into another buffer. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "buffer/chunk_manager_single.h"
#include "chunked.h"

#define ONE 400

static struct room single_room(void)
{
	struct room room;

	assert_int_equal(chunk_manager_single_open(&room.manager, ONE), 0);
	assert_int_equal(chunked_buffer_open(&room.buffer, 42), 0);
	chunked_buffer_set_manager(room.buffer, room.manager);
	return room;
}

static void a_block_one_byte_too_long_is_refused(void **state)
{
	struct room room = single_room();
	struct chunked_buffer_state now;
	size_t n;

	for (n = 0; n < 3; n++)
		put(room.buffer, n, 99);
	now = chunked_buffer_get_state(room.buffer);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 301, 3, 0, 0, 0});
	assert_int_equal(put_seeded(room.buffer, 9, 100, NULL), -ENOSPC); /* 101 of 100 */
	assert_state(room.buffer, (struct chunked_buffer_state){1, 301, 3, 0, 101, 1});
	assert_int_equal(count_blocks(room.buffer), 3);
	/* What would have fitted is refused as well from now on. */
	assert_int_equal(put_seeded(room.buffer, 9, 1, NULL), -ENOSPC);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 301, 3, 0, 103, 2});
	assert_int_equal(count_blocks(room.buffer), 3);
	assert_int_equal(now.pushed, 3);
	room_close(&room);
}

/* Ours has one rule for what is too large ever, and that costs nothing else (W5). */
static void w5_a_block_larger_than_the_chunk_leaves_it_usable(void **state)
{
	struct room room = single_room();

	put(room.buffer, 1, 99);
	assert_int_equal(put_seeded(room.buffer, 9, ONE, NULL), -E2BIG);
	put(room.buffer, 2, 99);
	assert_int_equal(count_blocks(room.buffer), 2);
	room_close(&room);
}

static void clear_makes_the_same_chunk_usable_at_the_next_range(void **state)
{
	struct room room = single_room();
	const struct chunk *chunk;
	struct block_view block;
	size_t n, round;

	for (round = 0; round < 3; round++) {
		uint64_t start = 1 + round * ONE;

		assert_state(room.buffer, (struct chunked_buffer_state){start, start, 0, 0, 0, 0});
		for (n = 0; n < 4; n++) /* fits exactly */
			assert_int_equal(put(room.buffer, n, 99), start + n * 100);
		assert_state(room.buffer,
			     (struct chunked_buffer_state){start, start + ONE, 4, 0, 0, 0});
		chunk = chunk_manager_peek(room.manager);
		assert_int_equal(chunk->header.range_start, start);
		assert_int_equal(put_seeded(room.buffer, 9, 1, NULL), -ENOSPC);
		assert_int_equal(count_blocks(room.buffer), 4);
		assert_int_equal(read_at(room.buffer, 0, &block), 0);
		assert_int_equal(block.index, start);
		chunked_buffer_clear(room.buffer);
		assert_int_equal(chunk_manager_get_stats(room.manager).made, 1);
	}
	room_close(&room);
}

static void appending_to_an_empty_buffer_gives_the_same_entries_and_state(void **state)
{
	struct room one = single_room(), many = room_of(100 * CHUNK, CHUNK);
	struct block_view block;
	uint64_t at = 0;
	size_t n;

	for (n = 0; n < 10; n++)
		put(one.buffer, n, 1 + n * 7);
	assert_int_equal(chunked_buffer_append(many.buffer, one.buffer), 0);
	assert_state(many.buffer, chunked_buffer_get_state(one.buffer));
	for (n = 0; n < 10; n++) {
		assert_int_equal(read_at(many.buffer, at, &block), 0);
		assert_block(&block, n, 1 + n * 7);
		at = block.next_index;
	}
	assert_int_equal(at, 0);
	room_close(&one);
	room_close(&many);
}

static void appending_puts_straddling_blocks_as_one(void **state)
{
	struct room from = room_of(100 * CHUNK, CHUNK), to = room_of(100 * 200, 200);
	struct block_view block;
	uint64_t at = 0;
	size_t n;

	for (n = 0; n < 50; n++)
		put(from.buffer, n, 1 + n * 3 % 100);
	assert_int_equal(chunked_buffer_append(to.buffer, from.buffer), 0);
	for (n = 0; n < 50; n++, at = block.next_index) {
		assert_int_equal(read_at(to.buffer, at, &block), 0);
		assert_block(&block, n, 1 + n * 3 % 100);
	}
	assert_int_equal(at, 0);
	room_close(&from);
	room_close(&to);
}

static void appending_stops_at_the_first_that_cannot_be_put(void **state)
{
	struct room one = single_room(), many = room_of(100 * CHUNK, CHUNK);
	size_t n;

	for (n = 0; n < 10; n++)
		put(many.buffer, n, 99);
	assert_int_equal(chunked_buffer_append(one.buffer, many.buffer), -ENOSPC);
	assert_int_equal(count_blocks(one.buffer), 4);
	assert_int_equal(chunked_buffer_get_state(one.buffer).failed, 1);
	chunked_buffer_set_manager(one.buffer, NULL);
	assert_int_equal(chunked_buffer_append(one.buffer, many.buffer), -ENOTCONN);
	assert_int_equal(chunked_buffer_append(many.buffer, one.buffer), 0); /* nothing */
	room_close(&one);
	room_close(&many);
}

/* A string is read in place where it lies in one chunk, and else from a copy. */
static void bytes_are_in_place_or_stitched_together(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	uint64_t whole = put(room.buffer, 1, 99), split = put(room.buffer, 2, 99);
	struct block_view block;
	uint8_t copy[99];

	assert_int_equal(read_at(room.buffer, whole, &block), 0);
	assert_ptr_equal(block_view_bytes(&block, copy), block.head);
	assert_int_equal(block.tail_bytes, 0);
	assert_int_equal(read_at(room.buffer, split, &block), 0);
	assert_int_equal(block.head_bytes, CHUNK - 100 - 1);
	assert_int_equal(block.tail_bytes, 99 - block.head_bytes);
	assert_ptr_equal(block_view_bytes(&block, copy), copy);
	assert_int_equal(copy[0], pattern(2, 0));
	assert_int_equal(copy[98], pattern(2, 98));
	room_close(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_one_byte_too_long_is_refused),
		cmocka_unit_test(w5_a_block_larger_than_the_chunk_leaves_it_usable),
		cmocka_unit_test(clear_makes_the_same_chunk_usable_at_the_next_range),
		cmocka_unit_test(appending_to_an_empty_buffer_gives_the_same_entries_and_state),
		cmocka_unit_test(appending_puts_straddling_blocks_as_one),
		cmocka_unit_test(appending_stops_at_the_first_that_cannot_be_put),
		cmocka_unit_test(bytes_are_in_place_or_stitched_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
