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

static struct memory_controller *compressing_controller(void)
{
	struct memory_controller *controller = NULL;
	const struct memory_controller_config config = {
		.max_bytes = 1 << 20,
		.chunk_first_bytes = LARGE,
		.chunk_max_bytes = LARGE,
		.expander = &fake_expander,
	};

	assert_int_equal(memory_controller_open(&controller, &config), 0);
	return controller;
}

/* What the compressor does; `damage` spoils its work. Returns how many chunks it had. */
static size_t compress_all(struct memory_controller *controller, bool damage)
{
	const struct chunk *chunk;
	size_t count = 0;
	void *token;

	while ((chunk = memory_controller_borrow(controller, &token)) != NULL) {
		struct chunk *twin = fake_compress(chunk);

		assert_non_null(twin);
		if (damage)
			twin->bytes[0] = 0;
		memory_controller_return(controller, token, twin);
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

static int check(void *context, const struct block_view *block)
{
	struct expected *expected = context;

	if (expected->count++)
		assert_int_equal(block->index, expected->index);
	assert_block(block, expected->seed, payload_of(expected->seed));
	expected->seed++;
	expected->index = block->next_index;
	return 0;
}

static void assert_all(const struct chunked_buffer *buffer, size_t count)
{
	struct expected expected = {0};

	assert_int_equal(chunked_buffer_each(buffer, check, &expected), 0);
	assert_int_equal(expected.count, count);
	assert_int_equal(expected.index, 0);
}

static void put_blocks(struct chunked_buffer *buffer, uint64_t first, size_t count)
{
	uint64_t seed;

	for (seed = first; seed < first + count; seed++)
		put(buffer, seed, payload_of(seed));
}

static void compressed_chunks_are_read_as_if_they_were_not(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	struct memory_stats before, after;

	put_blocks(room.buffer, 0, 200);
	before = memory_controller_get_stats(controller);
	assert_true(compress_all(controller, false) >= 8);
	after = memory_controller_get_stats(controller);
	assert_int_equal(after.compressed, before.released_bytes / LARGE);
	assert_int_equal(after.released_bytes, before.released_bytes / 2);
	assert_int_equal(after.unreleased_bytes, before.unreleased_bytes);
	assert_all(room.buffer, 200);
	assert_int_equal(compress_all(controller, false), 0); /* nothing is compressed twice */
	put_blocks(room.buffer, 200, 100); /* the newer ones are not compressed */
	assert_all(room.buffer, 300);
	room_close(&room);
	memory_controller_close(controller);
}

static void a_block_is_found_in_a_compressed_chunk(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	struct block_view block;
	struct chunk_walk walk;
	uint64_t at[100], seed;

	for (seed = 0; seed < 100; seed++)
		at[seed] = put(room.buffer, seed, payload_of(seed));
	compress_all(controller, false);
	for (seed = 0; seed < 100; seed++) {
		chunked_buffer_walk(room.buffer, &walk);
		assert_int_equal(chunked_buffer_read_at(&walk, at[seed], &block), 0);
		assert_int_equal(block.index, at[seed]);
		assert_block(&block, seed, payload_of(seed));
		chunk_walk_end(&walk);
	}
	room_close(&room);
	memory_controller_close(controller);
}

/* Every size, so that heads, tails and prefixes lie in two compressed chunks at every place. */
static void straddling_blocks_are_put_together_from_two_chunks(void **state)
{
	size_t room_left;

	for (room_left = 1; room_left <= 140; room_left++) {
		struct memory_controller *controller = compressing_controller();
		struct room room = room_under(controller, 42);
		struct block_view block;
		struct chunk_walk walk;
		uint64_t at;

		fill_up_to(room.buffer, LARGE, room_left);
		at = put(room.buffer, 7, 137);
		fill_up_to(room.buffer, LARGE, room_left + 20);
		put(room.buffer, 8, 500);
		assert_int_equal(compress_all(controller, false), 2);
		chunked_buffer_walk(room.buffer, &walk);
		assert_int_equal(chunked_buffer_read_at(&walk, at, &block), 0);
		assert_int_equal(block.index, at);
		assert_block(&block, 7, 137);
		chunk_walk_end(&walk);
		room_close(&room);
		memory_controller_close(controller);
	}
}

static int count_seed(void *context, const struct block_view *block)
{
	((size_t *)context)[0]++;
	return 0;
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

/* The chunk `n` from the oldest one. */
static struct chunk *nth(const struct room *room, size_t n)
{
	struct chunk *chunk = (struct chunk *)chunk_manager_peek(room->manager);

	while (n--)
		chunk = chunk->next;
	return chunk;
}

static void what_cannot_be_expanded_is_left_out_and_said(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	size_t chunks, n, all = 200, got;

	put_blocks(room.buffer, 0, all);
	chunks = compress_all(controller, false);
	for (n = 0; n < chunks; n++) {
		struct chunk *chunk = nth(&room, n);
		/* Its blocks, and the one before that ends in it. */
		size_t lost = chunk->header.block_count + (chunk->header.offset_first_block > 0);

		chunk->bytes[0] = 0;
		got = 0;
		assert_int_equal(chunked_buffer_each(room.buffer, count_seed, &got), -EBADMSG);
		assert_int_equal(got, all - lost);
		assert_int_equal(lost_blocks(room.buffer), lost);
		chunk->bytes[0] = FAKE_INTACT;
	}
	assert_all(room.buffer, all);
	room_close(&room);
	memory_controller_close(controller);
}

static void when_all_compressed_chunks_are_damaged_the_rest_is_read(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	struct chunk_walk walk;
	struct block_view block;
	size_t got = 0;

	put_blocks(room.buffer, 0, 200);
	compress_all(controller, true);
	chunked_buffer_walk(room.buffer, &walk);
	while (!chunk_walk_next(&walk, &block)) {
		assert_int_equal(block.lost, walk.lost);
		got++;
	}
	chunk_walk_end(&walk);
	assert_int_equal(got + walk.lost, 200); /* the count outlives the walk */
	assert_true(got > 0 && got < 30);
	room_close(&room);
	memory_controller_close(controller);
}

static int read_all(void *context)
{
	size_t count = 0;

	return chunked_buffer_each(context, count_seed, &count);
}

static void each_failing_allocation_of_a_walk_is_reported(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);

	put_blocks(room.buffer, 0, 200);
	compress_all(controller, false);
	assert_int_equal(alloc_fail_each(read_all, room.buffer), 2);
	room_close(&room);
	memory_controller_close(controller);
}

static void without_an_expander_compressed_chunks_are_unreadable(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	size_t count = 0;

	put_blocks(room.buffer, 0, 100);
	compress_all(controller, false);
	room.manager->expander = NULL;
	assert_int_equal(chunked_buffer_each(room.buffer, count_seed, &count), -EBADMSG);
	assert_true(count > 0 && count < 30);
	room_close(&room);
	memory_controller_close(controller);
}

static void clear_keeps_plain_chunks_and_gives_up_compressed_ones(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);

	put_blocks(room.buffer, 0, 100);
	compress_all(controller, false);
	put_blocks(room.buffer, 100, 50);
	chunked_buffer_clear(room.buffer);
	assert_int_equal(count_blocks(room.buffer), 0);
	assert_int_equal(memory_controller_get_stats(controller).released_bytes, 0);
	assert_int_equal(memory_controller_get_stats(controller).unreleased_bytes % LARGE, 0);
	put_blocks(room.buffer, 0, 100);
	assert_all(room.buffer, 100);
	room_close(&room);
	memory_controller_close(controller);
}

static void taken_chunks_are_readable_whether_compressed_or_not(void **state)
{
	struct memory_controller *controller = compressing_controller();
	struct room room = room_under(controller, 42);
	struct chunk_walk walk;
	struct block_view block;
	struct chunk *chunks;
	uint64_t seed = 0;

	put_blocks(room.buffer, 0, 100);
	compress_all(controller, false);
	put_blocks(room.buffer, 100, 50);
	chunks = chunked_buffer_take_chunks(room.buffer);
	room_close(&room);
	memory_controller_close(controller);
	chunk_walk_begin(&walk, chunks, NULL, &fake_expander);
	while (!chunk_walk_next(&walk, &block)) {
		assert_block(&block, seed, payload_of(seed));
		seed++;
	}
	chunk_walk_end(&walk);
	assert_int_equal(seed, 150);
	chunk_destroy_list(chunks);
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
		cmocka_unit_test(clear_keeps_plain_chunks_and_gives_up_compressed_ones),
		cmocka_unit_test(taken_chunks_are_readable_whether_compressed_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
