/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_compressed.c - buffers of which some chunks are compressed. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"
#include "fake_codec.h"

/* 2048 is worth compressing. */
#define LARGE 2048

static struct room compressed_room(void)
{
	const struct chunk_store_config config = {
		.max_bytes = 1 << 20,
		.chunk_first_bytes = LARGE,
		.chunk_max_bytes = LARGE,
		.expander = &fake_expander,
	};
	struct room room = room_under(store_with(&config), 42);

	room.is_alone = true;
	return room;
}

/* What the compressor does; `damage` spoils its work. Returns how many chunks it had. */
static size_t compress_all(struct chunk_store *store, bool damage)
{
	struct chunk *chunk;
	size_t count = 0;

	while ((chunk = chunk_store_borrow(store, false)) != NULL) {
		struct chunk *twin = fake_compress(chunk);

		assert_non_null(twin);
		if (damage)
			twin->bytes[0] = 0;
		chunk_store_return(store, chunk, twin);
		count++;
	}
	return count;
}

struct expected {
	uint64_t seed;
	size_t count;
	uint64_t index;
};

static size_t payload_of(uint64_t seed)
{
	return 1 + seed * 37 % 200;
}

static void check(void *context, const struct block_view *block)
{
	struct expected *expected = context;

	if (expected->count++)
		assert_int_equal(block->index, expected->index);
	assert_block(block, expected->seed, payload_of(expected->seed));
	expected->index = block->index + block_size(payload_of(expected->seed));
	expected->seed++;
}

static void assert_all(const struct chunked_buffer *buffer, size_t count)
{
	struct expected expected = {0};

	assert_int_equal(each_block(buffer, check, &expected), 0);
	assert_int_equal(expected.count, count);
	assert_int_equal(expected.index, chunked_buffer_get_state(buffer).range_end);
}

static void put_blocks(struct chunked_buffer *buffer, uint64_t first, size_t count)
{
	uint64_t seed;

	for (seed = first; seed < first + count; seed++)
		put(buffer, seed, payload_of(seed));
}

static void compressed_chunks_are_read_as_if_they_were_not(void **state)
{
	struct room room = compressed_room();
	struct chunk_store_stats before, after;

	put_blocks(room.buffer, 0, 200);
	before = chunk_store_get_stats(room.store);
	assert_true(compress_all(room.store, false) >= 8);
	after = chunk_store_get_stats(room.store);
	assert_int_equal(after.compressed, before.released_bytes / LARGE);
	assert_int_equal(after.released_bytes, before.released_bytes / 2);
	assert_int_equal(after.unreleased_bytes, before.unreleased_bytes);
	assert_all(room.buffer, 200);
	assert_int_equal(compress_all(room.store, false), 0); /* nothing is compressed twice */
	put_blocks(room.buffer, 200, 100); /* the newer ones are not compressed */
	assert_all(room.buffer, 300);
	room_close(&room);
}

static void a_block_is_found_in_a_compressed_chunk(void **state)
{
	struct room room = compressed_room();
	struct block_view block;
	struct chunk_walk walk;
	uint64_t at[100], seed;

	for (seed = 0; seed < 100; seed++)
		at[seed] = put(room.buffer, seed, payload_of(seed));
	compress_all(room.store, false);
	for (seed = 0; seed < 100; seed++) {
		chunked_buffer_walk(room.buffer, &walk);
		assert_int_equal(chunk_walk_seek(&walk, at[seed], &block), 0);
		assert_int_equal(block.index, at[seed]);
		assert_block(&block, seed, payload_of(seed));
		chunk_walk_end(&walk);
	}
	room_close(&room);
}

/* Every size, so that heads, tails and prefixes lie in two compressed chunks at every place. */
static void straddling_blocks_are_put_together_from_two_chunks(void **state)
{
	size_t room_left;

	for (room_left = 1; room_left <= 140; room_left++) {
		struct room room = compressed_room();
		struct block_view block;
		struct chunk_walk walk;
		uint64_t at;

		fill_up_to(room.buffer, LARGE, room_left);
		at = put(room.buffer, 7, 137);
		fill_up_to(room.buffer, LARGE, room_left + 20);
		put(room.buffer, 8, 500);
		assert_int_equal(compress_all(room.store, false), 2);
		chunked_buffer_walk(room.buffer, &walk);
		assert_int_equal(chunk_walk_seek(&walk, at, &block), 0);
		assert_int_equal(block.index, at);
		assert_block(&block, 7, 137);
		chunk_walk_end(&walk);
		room_close(&room);
	}
}

static uint64_t lost_blocks(const struct chunked_buffer *buffer)
{
	struct block_view block;
	struct chunk_walk walk;

	chunked_buffer_walk(buffer, &walk);
	while (!chunk_walk_next(&walk, &block))
		;
	chunk_walk_end(&walk);
	return walk.lost;
}

static void what_cannot_be_expanded_is_left_out_and_said(void **state)
{
	struct room room = compressed_room();
	size_t chunks, n, all = 200, got;

	put_blocks(room.buffer, 0, all);
	chunks = compress_all(room.store, false);
	for (n = 0; n < chunks; n++) {
		struct chunk *chunk = nth_chunk(room.buffer, n);
		/* Its blocks, and the one before that ends in it. */
		size_t lost = chunk->header.block_count + (chunk->header.offset_first_block > 0);

		chunk->bytes[0] = 0;
		got = 0;
		assert_int_equal(each_block(room.buffer, count_block, &got), -EBADMSG);
		assert_int_equal(got, all - lost);
		assert_int_equal(lost_blocks(room.buffer), lost);
		chunk->bytes[0] = FAKE_INTACT;
	}
	assert_all(room.buffer, all);
	room_close(&room);
}

static void when_all_compressed_chunks_are_damaged_the_rest_is_read(void **state)
{
	struct room room = compressed_room();
	struct chunk_walk walk;
	struct block_view block;
	size_t got = 0;

	put_blocks(room.buffer, 0, 200);
	compress_all(room.store, true);
	chunked_buffer_walk(room.buffer, &walk);
	while (!chunk_walk_next(&walk, &block)) {
		assert_int_equal(block.lost, walk.lost);
		got++;
	}
	chunk_walk_end(&walk);
	assert_int_equal(got + walk.lost, 200); /* the count outlives the walk */
	assert_true(got > 0 && got < 30);
	room_close(&room);
}

static int read_all(void *context)
{
	size_t count = 0;

	return each_block(context, count_block, &count);
}

static void each_failing_allocation_of_a_walk_is_reported(void **state)
{
	struct room room = compressed_room();

	put_blocks(room.buffer, 0, 200);
	compress_all(room.store, false);
	assert_int_equal(alloc_fail_each(read_all, room.buffer), 2);
	room_close(&room);
}

static void without_an_expander_compressed_chunks_are_unreadable(void **state)
{
	struct room room = room_of(1 << 20, LARGE);
	size_t count = 0;

	put_blocks(room.buffer, 0, 100);
	compress_all(room.store, false);
	assert_int_equal(each_block(room.buffer, count_block, &count), -EBADMSG);
	assert_true(count > 0 && count < 30);
	room_close(&room);
}

static void compressed_chunks_go_as_others_do(void **state)
{
	struct room room = compressed_room();
	size_t round;

	put_blocks(room.buffer, 0, 100);
	compress_all(room.store, false);
	put_blocks(room.buffer, 100, 50);
	for (round = 0; released(room.store); round++) {
		struct chunked_buffer_state now;
		struct expected expected = {0};

		destroy_oldest(room.store);
		now = chunked_buffer_get_state(room.buffer);
		expected.seed = now.cleared;
		assert_int_equal(each_block(room.buffer, check, &expected), 0);
		assert_int_equal(expected.count, 150 - now.cleared);
	}
	assert_true(round > 6);
	room_close(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compressed_chunks_are_read_as_if_they_were_not),
		cmocka_unit_test(a_block_is_found_in_a_compressed_chunk),
		cmocka_unit_test(straddling_blocks_are_put_together_from_two_chunks),
		cmocka_unit_test(what_cannot_be_expanded_is_left_out_and_said),
		cmocka_unit_test(when_all_compressed_chunks_are_damaged_the_rest_is_read),
		cmocka_unit_test(each_failing_allocation_of_a_walk_is_reported),
		cmocka_unit_test(without_an_expander_compressed_chunks_are_unreadable),
		cmocka_unit_test(compressed_chunks_go_as_others_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
