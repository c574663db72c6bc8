/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_overwrite.c - the oldest blocks go, buffers are emptied, memory runs out. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chunked.h"

/* ---- overwriting ------------------------------------------------------------- */

struct survivors {
	uint64_t first_seed, next_seed;
	uint64_t next_index;
	size_t count;
};

static void check_survivor(void *context, const struct block_view *block)
{
	struct survivors *survivors = context;

	if (survivors->count++)
		assert_int_equal(block->index, survivors->next_index);
	assert_block(block, survivors->next_seed, 1 + survivors->next_seed % 30);
	survivors->next_index = block->index + block_size(1 + survivors->next_seed % 30);
	survivors->next_seed++;
}

static void twice_the_capacity_keeps_the_newest_blocks(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	struct chunked_buffer_state after;
	struct survivors survivors = {0};
	uint64_t seed = 0, index = 0, last = 0;
	struct block_view block;

	while (last < 20 * CHUNK) {
		index = put(room.buffer, seed, 1 + seed % 30);
		assert_true(index > last);
		last = index;
		seed++;
	}
	after = chunked_buffer_get_state(room.buffer);
	assert_true(after.range_start > 1 + CHUNK);
	assert_true(after.cleared > 0);
	assert_int_equal(after.failed, 0);
	assert_int_equal(after.pushed, seed);
	survivors.next_seed = after.cleared;
	assert_int_equal(each_block(room.buffer, check_survivor, &survivors), 0);
	assert_int_equal(survivors.next_seed, seed);
	assert_int_equal(survivors.next_index, after.range_end);
	assert_int_equal(survivors.count, after.pushed - after.cleared);
	assert_true(survivors.count < seed);
	assert_int_equal(read_at(room.buffer, 1, &block), 0);
	assert_true(block.index >= after.range_start);
	assert_block(&block, after.cleared, 1 + after.cleared % 30);
	room_close(&room);
}

/* As the streaming of a recording does it: each time from behind what was read last. */
static void reading_on_from_behind_each_block_visits_all(void **state)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	struct block_view block;
	uint64_t seed, at = 0;
	size_t count = 0;

	for (seed = 0; seed < 200; seed++)
		put(room.buffer, seed, 1 + seed % 50);
	while (!read_at(room.buffer, at, &block)) {
		if (at)
			assert_int_equal(block.index, at);
		at = block.index + block_size(view_size(&block));
		count++;
	}
	assert_int_equal(count, count_blocks(room.buffer));
	assert_int_equal(at, chunked_buffer_get_state(room.buffer).range_end);
	room_close(&room);
}

static void one_limit_holds_for_all_buffers(void **state)
{
	struct chunk_store *store = store_of(8 * CHUNK, CHUNK);
	struct room busy = room_under(store, 42), idle = room_under(store, 43);
	struct chunked_buffer_state now;
	struct chunk_store_stats stats;
	size_t n;

	for (n = 0; n < 6; n++)
		put(idle.buffer, n, 99);
	assert_int_equal(count_blocks(idle.buffer), 6);
	/* What the idle one wrote is the oldest and goes, but for its current chunk. */
	for (n = 0; n < 50; n++) {
		put(busy.buffer, n, 99);
		stats = chunk_store_get_stats(store);
		assert_true(stats.released_bytes + stats.unreleased_bytes <= 8 * CHUNK);
	}
	now = chunked_buffer_get_state(idle.buffer);
	assert_int_equal(now.pushed, 6);
	assert_int_equal(now.cleared, 6 - count_blocks(idle.buffer));
	assert_int_equal(now.range_start, 1 + 4 * CHUNK);
	assert_int_equal(count_blocks(idle.buffer), 0);
	put(idle.buffer, 7, 3);
	assert_int_equal(count_blocks(idle.buffer), 1);
	room_close(&idle);
	room_close(&busy);
	chunk_store_close(store);
}

static void a_limit_below_one_chunk_keeps_the_current_one(void **state)
{
	struct room room = room_of(1, CHUNK);
	size_t n;

	for (n = 0; n < 100; n++) {
		put(room.buffer, n, 30);
		assert_true(count_blocks(room.buffer) <= 9);
	}
	assert_true(count_blocks(room.buffer) >= 1);
	room_close(&room);
}

/* ---- failures and what must not come back ------------------------------------ */

/*
 * W5. Theirs refuses what is larger than a chunk, and what is as large only if the chunk is not
 * empty. Ours refuses above a constant, far more than a chunk here, always.
 */
static void w5_the_oversize_rule_ignores_the_fill_level(void **state)
{
	size_t room_left;

	for (room_left = 1; room_left <= CHUNK - 2; room_left++) {
		struct room room = room_of(10 * CHUNK, CHUNK);
		struct chunked_buffer_state before, after;
		struct block_view block;
		uint64_t index;

		fill_up_to(room.buffer, CHUNK, room_left);
		before = chunked_buffer_get_state(room.buffer);
		assert_int_equal(put_seeded(room.buffer, 1, MAX_BLOCK_BYTES - 2), -E2BIG);
		after = chunked_buffer_get_state(room.buffer);
		assert_int_equal(after.failed, 1);
		assert_int_equal(after.failed_bytes, MAX_BLOCK_BYTES + 1);
		assert_int_equal(after.range_end, before.range_end);
		assert_int_equal(after.pushed, before.pushed);
		index = put(room.buffer, 9, MAX_BLOCK_BYTES - 3);
		assert_int_equal(index, before.range_end);
		assert_int_equal(read_at(room.buffer, index, &block), 0);
		assert_int_equal(view_size(&block), MAX_BLOCK_BYTES - 3);
		assert_int_equal(block.head[0], pattern(9, 0));
		room_close(&room);
	}
}

/* 11 blocks of 10 bytes, then one of 30 for which there is no chunk. */
static struct room room_with_a_hole(void)
{
	struct room room = room_of(10 * CHUNK, CHUNK);
	size_t n;

	for (n = 0; n < 11; n++)
		put(room.buffer, n, 9);
	alloc_fail_at(1);
	assert_int_equal(put_seeded(room.buffer, 99, 29), -ENOMEM);
	assert_true(alloc_fail_stop());
	return room;
}

/* The hole after running out of memory. */
static void without_a_next_chunk_the_current_one_is_given_up(void **state)
{
	struct room room = room_with_a_hole();

	assert_state(room.buffer, (struct chunked_buffer_state){1, 111, 11, 0, 30, 1});
	assert_int_equal(released(room.store), CHUNK);
	/* A smaller one would have fitted; it is refused all the same while there is no memory. */
	alloc_fail_at(1);
	assert_int_equal(put_seeded(room.buffer, 99, 1), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_state(room.buffer, (struct chunked_buffer_state){1, 111, 11, 0, 32, 2});
	assert_int_equal(count_blocks(room.buffer), 11);
	room_close(&room);
}

/* W1: theirs adds up the bytes of the blocks, and would give out indexes twice. */
static void w1_range_end_counts_the_hole(void **state)
{
	struct room room = room_with_a_hole();

	assert_int_equal(put(room.buffer, 11, 9), 1 + CHUNK);
	assert_state(room.buffer, (struct chunked_buffer_state){1, 1 + CHUNK + 10, 12, 0, 30, 1});
	/* And when all blocks went with their chunks, positions go on. */
	chunked_buffer_finish(room.buffer);
	destroy_oldest(room.store);
	destroy_oldest(room.store);
	assert_int_equal(put(room.buffer, 12, 9), 1 + CHUNK + 10);
	room_close(&room);
}

/* W4: theirs subtracts a whole chunk from an offset in a part of it. */
static void w4_reading_goes_on_after_a_hole(void **state)
{
	struct room room = room_with_a_hole();
	struct block_view block;

	put(room.buffer, 11, 9);
	put(room.buffer, 12, 9);
	assert_int_equal(count_blocks(room.buffer), 13);
	assert_int_equal(read_at(room.buffer, 111, &block), 0);
	assert_int_equal(block.index, 1 + CHUNK);
	assert_block(&block, 11, 9);
	assert_int_equal(read_at(room.buffer, 101, &block), 0);
	assert_block(&block, 10, 9);
	room_close(&room);
}

static void a_hole_at_the_end_does_not_put_start_behind_end(void **state)
{
	struct room room = room_with_a_hole();

	destroy_oldest(room.store);
	assert_state(room.buffer,
		     (struct chunked_buffer_state){1 + CHUNK, 1 + CHUNK, 11, 11, 30, 1});
	assert_int_equal(count_blocks(room.buffer), 0);
	room_close(&room);
}

static int put_many(void *context)
{
	const struct chunk_store_config config = {
		.max_bytes = 100 * CHUNK, .chunk_first_bytes = CHUNK, .chunk_max_bytes = CHUNK};
	struct chunk_store *store = NULL;
	struct chunked_buffer *buffer = NULL;
	size_t n;
	int err = chunk_store_open(&store, &config);

	if (!err)
		err = chunked_buffer_open(&buffer, store, 42);
	for (n = 0; n < 50 && !err; n++)
		err = put_seeded(buffer, n, 20);
	if (buffer)
		assert_int_equal(count_blocks(buffer), chunked_buffer_get_state(buffer).pushed);
	chunked_buffer_close(buffer);
	chunk_store_close(store);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	/* Store, buffer, and 9 chunks for 1050 bytes. */
	assert_int_equal(alloc_fail_each(put_many, NULL), 11);
}

/* ---- random work against a naive model --------------------------------------- */

#define MODEL_MAX 20000

struct model_block {
	uint64_t index, seed;
	size_t payload;
};

/* All that was ever put; the buffer must show a suffix of it. */
struct model {
	struct model_block blocks[MODEL_MAX];
	size_t count;
	size_t at; /* while it is compared */
	uint64_t failed;
};

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525 + 1013904223;
	return *random >> 8;
}

static void compare_block(void *context, const struct block_view *block)
{
	struct model *model = context;
	const struct model_block *wanted = &model->blocks[model->at++];

	assert_true(model->at <= model->count);
	assert_int_equal(block->index, wanted->index);
	assert_block(block, wanted->seed, wanted->payload);
}

static void model_compare(struct model *model, const struct chunked_buffer *buffer)
{
	struct chunked_buffer_state now = chunked_buffer_get_state(buffer);

	assert_int_equal(now.pushed, model->count);
	assert_int_equal(now.failed, model->failed);
	assert_true(now.range_start <= now.range_end);
	model->at = (size_t)now.cleared;
	if (model->at < model->count)
		assert_true(model->blocks[model->at].index >= now.range_start);
	if (model->at > 0)
		assert_true(model->blocks[model->at - 1].index < now.range_start);
	assert_int_equal(each_block(buffer, compare_block, model), 0);
	assert_int_equal(model->at, model->count);
}

static void model_read_at(const struct model *model, const struct chunked_buffer *buffer,
			  uint64_t index)
{
	struct block_view block;
	size_t n = (size_t)chunked_buffer_get_state(buffer).cleared;

	while (n < model->count && model->blocks[n].index < index)
		n++;
	if (n == model->count) {
		assert_int_equal(read_at(buffer, index, &block), -ENOENT);
		return;
	}
	assert_int_equal(read_at(buffer, index, &block), 0);
	assert_int_equal(block.index, model->blocks[n].index);
	assert_block(&block, model->blocks[n].seed, model->blocks[n].payload);
}

static void model_put(struct model *model, struct chunked_buffer *buffer, uint32_t *random)
{
	struct model_block block = {.seed = next_random(random)};
	bool fail = next_random(random) % 40 == 0;
	int err;

	block.payload = 1 + next_random(random) % (next_random(random) % 8 ? 30 : 400);
	if (next_random(random) % 500 == 0)
		block.payload = MAX_BLOCK_BYTES;
	alloc_fail_at(fail ? 1 : 0);
	err = put_seeded(buffer, block.seed, block.payload);
	fail = alloc_fail_stop();
	if (block.payload + leb128_size(block.payload) > MAX_BLOCK_BYTES)
		assert_int_equal(err, -E2BIG);
	else
		assert_int_equal(err, fail ? -ENOMEM : 0);
	if (err) {
		model->failed++;
		return;
	}
	block.index = last_index(buffer, block.payload);
	if (model->count)
		assert_true(block.index > model->blocks[model->count - 1].index);
	model->blocks[model->count++] = block;
}

/* One step of random work. */
static void model_step(struct model *model, struct chunked_buffer *buffer, uint32_t *random)
{
	uint32_t what = next_random(random) % 1000;

	if (what < 10) {
		chunked_buffer_finish(buffer);
	} else if (what < 50) {
		model_compare(model, buffer);
	} else if (what < 100) {
		uint64_t end = chunked_buffer_get_state(buffer).range_end;

		model_read_at(model, buffer, next_random(random) % (end + 10));
	} else {
		model_put(model, buffer, random);
	}
}

static void random_work_agrees_with_a_naive_model(void **state)
{
	static struct model models[3];
	struct chunk_store *store = store_of(12 * CHUNK, CHUNK);
	struct room rooms[3];
	uint32_t random = 20240607;
	size_t n;

	memset(models, 0, sizeof(models));
	for (n = 0; n < 3; n++)
		rooms[n] = room_under(store, (uint32_t)n);
	for (n = 0; n < 20000; n++) {
		size_t which = next_random(&random) % 3;

		model_step(&models[which], rooms[which].buffer, &random);
		if (n % 50 == 0)
			chunk_store_fulfil(store);
	}
	for (n = 0; n < 3; n++) {
		model_compare(&models[n], rooms[n].buffer);
		assert_true(chunked_buffer_get_state(rooms[n].buffer).range_end > 20 * CHUNK);
		room_close(&rooms[n]);
	}
	chunk_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twice_the_capacity_keeps_the_newest_blocks),
		cmocka_unit_test(reading_on_from_behind_each_block_visits_all),
		cmocka_unit_test(one_limit_holds_for_all_buffers),
		cmocka_unit_test(a_limit_below_one_chunk_keeps_the_current_one),
		cmocka_unit_test(w5_the_oversize_rule_ignores_the_fill_level),
		cmocka_unit_test(without_a_next_chunk_the_current_one_is_given_up),
		cmocka_unit_test(w1_range_end_counts_the_hole),
		cmocka_unit_test(w4_reading_goes_on_after_a_hole),
		cmocka_unit_test(a_hole_at_the_end_does_not_put_start_behind_end),
		cmocka_unit_test(each_failing_allocation_is_reported),
		cmocka_unit_test(random_work_agrees_with_a_naive_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
