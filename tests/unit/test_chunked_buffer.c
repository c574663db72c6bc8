/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_buffer.c - blocks go in and come out in order, however they lie over chunks. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"

/* ---- life -------------------------------------------------------------------- */

static void a_new_buffer_is_empty_and_costs_nothing(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	struct block_view block;

	assert_state(room.buffer, (struct chunked_buffer_state){1, 1, 0, 0, 0, 0});
	assert_int_equal(lent(room.store), 0);
	assert_true(chunked_buffer_starts_chunk(room.buffer));
	assert_int_equal(count_blocks(room.buffer), 0);
	assert_int_equal(read_at(room.buffer, 0, &block), -ENOENT);
	room_close(&room);
	chunked_buffer_close(NULL);
}

static void closing_gives_all_back(void **state)
{
	struct chunk_store *store = store_of(10 * CHUNK, CHUNK);
	struct room room = room_under(store, 42), other = room_under(store, 43);
	size_t n;

	put(other.buffer, 1, CHUNK - 1);
	for (n = 0; n < 8; n++)
		put(room.buffer, n, 20);
	chunk_store_fulfil(store);
	room_close(&room);
	assert_bytes(store, 0, CHUNK);
	assert_int_equal(count_blocks(other.buffer), 1);
	room_close(&other);
	assert_bytes(store, 0, 0);
	chunk_store_close(store);
}

/* ---- putting and reading ----------------------------------------------------- */

static void the_first_put_has_index_one(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	struct block_view block;

	assert_int_equal(put(room.buffer, 3, 10), 1);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 12, 1, 0, 0, 0});
	assert_int_equal(count_blocks(room.buffer), 1);
	assert_int_equal(read_at(room.buffer, 1, &block), 0);
	assert_int_equal(block.index, 1);
	assert_block(&block, 3, 10);
	assert_int_equal(read_at(room.buffer, 0, &block), 0);
	assert_int_equal(block.index, 1);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 12, 1, 0, 0, 0});
	room_close(&room);
}

static void reading_at_an_index_finds_the_first_block_not_before_it(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	uint64_t first = put(room.buffer, 1, 10);
	uint64_t second = put(room.buffer, 2, 20);
	struct block_view block;

	assert_int_equal(second, 12);
	assert_int_equal(read_at(room.buffer, first, &block), 0);
	assert_int_equal(read_at(room.buffer, first + 1, &block), 0);
	assert_int_equal(block.index, second);
	assert_block(&block, 2, 20);
	assert_int_equal(read_at(room.buffer, second + 1, &block), -ENOENT);
	assert_int_equal(read_at(room.buffer, UINT64_MAX, &block), -ENOENT);
	room_close(&room);
}

static void an_exact_fit_releases_the_chunk(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);

	put(room.buffer, 1, CHUNK - 1);
	assert_int_equal(released(room.store), CHUNK);
	assert_int_equal(lent(room.store), 0);
	assert_true(chunked_buffer_starts_chunk(room.buffer));
	assert_int_equal(put(room.buffer, 2, 5), 1 + CHUNK);
	assert_int_equal(count_blocks(room.buffer), 2);
	room_close(&room);
}

static void a_block_starts_a_chunk_when_none_began_there(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);

	put(room.buffer, 1, 99); /* 100 bytes */
	assert_false(chunked_buffer_starts_chunk(room.buffer));
	put(room.buffer, 2, 49); /* 28 here, 22 there */
	assert_true(chunked_buffer_starts_chunk(room.buffer));
	put(room.buffer, 3, 5);
	assert_false(chunked_buffer_starts_chunk(room.buffer));
	room_close(&room);
}

static void chunks_carry_the_process_and_where_they_begin(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	const struct chunk *chunk;
	size_t n;

	for (n = 0; n < 10; n++)
		put(room.buffer, n, 49);
	chunk = first_chunk(room.buffer);
	assert_int_equal(chunk->header.process_id, 42);
	assert_int_equal(chunk->header.range_start, 1);
	assert_int_equal(chunk->header.block_count, 3);
	assert_int_equal(chunk->header.offset_first_block, 0);
	assert_int_equal(next_chunk(chunk)->header.range_start, 1 + CHUNK);
	assert_int_equal(next_chunk(chunk)->header.offset_first_block, 150 - CHUNK);
	assert_int_equal(next_chunk(chunk)->header.block_count, 3);
	room_close(&room);
}

/* ---- straddling -------------------------------------------------------------- */

static void straddle_once(size_t chunk_bytes, size_t payload, size_t room_left)
{
	struct room room = room_of(10 * chunk_bytes, (uint32_t)chunk_bytes);
	size_t count = fill_up_to(room.buffer, chunk_bytes, room_left);
	uint64_t index = put(room.buffer, 500, payload);
	uint64_t next = put(room.buffer, 501, 3);
	struct block_view block;
	struct chunk_walk walk;

	assert_int_equal(index, 1 + chunk_bytes - room_left);
	assert_int_equal(next, index + leb128_size(payload) + payload);
	assert_int_equal(count_blocks(room.buffer), count + 2);
	chunked_buffer_walk(room.buffer, &walk);
	assert_int_equal(chunk_walk_seek(&walk, index, &block), 0);
	assert_int_equal(block.index, index);
	assert_block(&block, 500, payload);
	assert_int_equal(chunk_walk_next(&walk, &block), 0);
	assert_int_equal(block.index, next);
	assert_int_equal(chunk_walk_next(&walk, &block), -ENOENT);
	chunk_walk_end(&walk);
	/* Without the chunk of its head, the tail is skipped. */
	destroy_oldest(room.store);
	assert_int_equal(count_blocks(room.buffer), 1);
	assert_int_equal(read_at(room.buffer, index, &block), 0);
	assert_int_equal(block.index, next);
	assert_block(&block, 501, 3);
	assert_state(room.buffer, (struct chunked_buffer_state){1 + chunk_bytes, next + 4,
								count + 2, count + 1, 0, 0});
	room_close(&room);
}

static void every_size_straddles_at_every_position(void **state)
{
	size_t payload, room_left;

	for (payload = 1; payload + 1 <= 40; payload++) {
		for (room_left = 1; room_left < payload + 1; room_left++) {
			if (40 - room_left >= 2)
				straddle_once(40, payload, room_left);
		}
	}
}

static void a_size_prefix_is_split_as_well(void **state)
{
	size_t payload, room_left;

	for (payload = 128; payload < 140; payload++) {
		for (room_left = 1; room_left < 5; room_left++)
			straddle_once(200, payload, room_left);
	}
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

/* Three blocks of 100 bytes over three chunks; the first two chunks are released. */
static struct room room_to_damage(struct chunk **first)
{
	struct room room = room_of(10 * CHUNK, CHUNK);

	put(room.buffer, 1, 99);
	put(room.buffer, 2, 99);
	put(room.buffer, 3, 99);
	*first = first_chunk(room.buffer);
	assert_int_equal(count_blocks(room.buffer), 3);
	return room;
}

/* What a walk finds: bit n of `found` is the block of seed n. */
static void assert_damage(const struct chunked_buffer *buffer, unsigned int found, uint64_t lost)
{
	struct block_view block;
	struct chunk_walk walk;
	unsigned int got = 0;
	size_t count = 0;

	chunked_buffer_walk(buffer, &walk);
	while (!chunk_walk_next(&walk, &block)) {
		unsigned int seed = 1 + (unsigned int)(block.index / 100);

		assert_block(&block, seed, 99);
		got |= 1U << seed;
		count++;
	}
	chunk_walk_end(&walk);
	assert_int_equal(got, found);
	assert_int_equal(walk.lost, lost);
	assert_int_equal(count + lost, 3);
}

static void a_gap_between_chunks_costs_the_blocks_that_cross_it(void **state)
{
	struct chunk *first;
	struct room room = room_to_damage(&first);

	/* There are two gaps now: before it and after it. */
	next_chunk(first)->header.range_start++;
	assert_damage(room.buffer, 1 << 1, 2);
	next_chunk(first)->header.range_start -= 2;
	assert_damage(room.buffer, 1 << 1, 2);
	room_close(&room);
}

static void a_chunk_without_a_position_ends_the_walk(void **state)
{
	struct chunk *first;
	struct room room = room_to_damage(&first);
	struct block_view block;
	struct chunk_walk walk;

	first->header.range_start = 0;
	chunked_buffer_walk(room.buffer, &walk);
	assert_int_equal(chunk_walk_next(&walk, &block), -ENOENT);
	chunk_walk_end(&walk);
	room_close(&room);
}

static void a_size_that_makes_no_sense_costs_that_block(void **state)
{
	static const uint8_t sizes[][5] = {
		{0}, /* nothing */
		{0xff, 0x01}, /* 255: more than a chunk has */
		{0xff, 0xff, 0xff, 0xff, 0x0f}, /* 2^32 - 1 */
		{0x80, 0x80, 0x80, 0x80, 0x80}, /* no end */
	};
	struct chunk *first;
	struct room room = room_to_damage(&first);
	size_t n;

	for (n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
		memcpy(first->bytes + 100, sizes[n], sizeof(sizes[n]));
		assert_damage(room.buffer, 1 << 1 | 1 << 3, 1);
	}
	room_close(&room);
}

static void missing_bytes_cost_that_block(void **state)
{
	struct chunk *first;
	struct room room = room_to_damage(&first);

	first->bytes[100]--; /* the tail is longer than what is left of the block */
	assert_damage(room.buffer, 1 << 1 | 1 << 3, 1);
	first->bytes[100] += 2; /* the block is longer than its tail */
	assert_damage(room.buffer, 1 << 1 | 1 << 3, 1);
	first->bytes[100]--;
	assert_damage(room.buffer, 1 << 1 | 1 << 2 | 1 << 3, 0);
	first->header.offset_past_last_block--; /* the head ends before its chunk does */
	assert_damage(room.buffer, 1 << 1 | 1 << 3, 1);
	room_close(&room);
}

/* Blocks from the damage to the end of the chunk, wherever it is. */
static void damage_costs_the_rest_of_its_chunk(void **state)
{
	struct room room = room_of(100 * CHUNK, CHUNK);
	struct block_view block;
	struct chunk_walk walk;
	struct chunk *second;
	uint64_t seed, n, first, blocks;

	for (seed = 0; seed < 100; seed++)
		put(room.buffer, seed, 5);
	second = next_chunk(first_chunk(room.buffer));
	first = first_chunk(room.buffer)->header.block_count;
	blocks = second->header.block_count;
	assert_true(blocks > 10);
	for (n = 0; n < blocks; n++) {
		uint8_t *size = second->bytes + second->header.offset_first_block + n * 6;
		uint64_t got = 0;

		*size = 0;
		chunked_buffer_walk(room.buffer, &walk);
		while (!chunk_walk_next(&walk, &block)) {
			assert_block(&block, (block.index - 1) / 6, 5);
			/* Said of the first block after it, and of all that follow. */
			assert_int_equal(block.lost, got < first + n ? 0 : blocks - n);
			got++;
		}
		assert_int_equal(walk.lost, blocks - n);
		assert_int_equal(got, 100 - walk.lost);
		chunk_walk_end(&walk);
		*size = 5;
	}
	room_close(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_buffer_is_empty_and_costs_nothing),
		cmocka_unit_test(closing_gives_all_back),
		cmocka_unit_test(the_first_put_has_index_one),
		cmocka_unit_test(reading_at_an_index_finds_the_first_block_not_before_it),
		cmocka_unit_test(an_exact_fit_releases_the_chunk),
		cmocka_unit_test(a_block_starts_a_chunk_when_none_began_there),
		cmocka_unit_test(chunks_carry_the_process_and_where_they_begin),
		cmocka_unit_test(every_size_straddles_at_every_position),
		cmocka_unit_test(a_size_prefix_is_split_as_well),
		cmocka_unit_test(bytes_are_in_place_or_stitched_together),
		cmocka_unit_test(a_gap_between_chunks_costs_the_blocks_that_cross_it),
		cmocka_unit_test(a_chunk_without_a_position_ends_the_walk),
		cmocka_unit_test(a_size_that_makes_no_sense_costs_that_block),
		cmocka_unit_test(missing_bytes_cost_that_block),
		cmocka_unit_test(damage_costs_the_rest_of_its_chunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
