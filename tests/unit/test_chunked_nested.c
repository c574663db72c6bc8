/* SPDX-License-Identifier: BSD-2-Clause */
/* test_chunked_nested.c - one buffer's blocks as a block of another. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "buffer/chunk_manager_single.h"
#include "buffer/chunked_nested.h"
#include "chunked.h"

#define ONE 400

static struct room single_room(uint32_t bytes)
{
	struct room room;

	assert_int_equal(chunk_manager_single_open(&room.manager, bytes), 0);
	assert_int_equal(chunked_buffer_open(&room.buffer, 42), 0);
	chunked_buffer_set_manager(room.buffer, room.manager);
	return room;
}

/* The payload of the first block; the caller frees it. */
static uint8_t *first_payload(const struct chunked_buffer *buffer, size_t *size)
{
	struct block_view block;
	uint8_t *copy;

	assert_int_equal(read_at(buffer, 0, &block), 0);
	*size = view_size(&block);
	copy = malloc(*size);
	assert_non_null(copy);
	if (block_view_bytes(&block, copy) != copy)
		memcpy(copy, block.head, *size);
	return copy;
}

static void assert_nests_nothing(const struct chunked_buffer *inner)
{
	struct room outer = room_of(100 * CHUNK, CHUNK), back = single_room(ONE);
	size_t size;
	uint8_t *payload;

	assert_int_equal(chunked_nested_put(outer.buffer, inner, NULL), 0);
	payload = first_payload(outer.buffer, &size);
	assert_int_equal(size, 1);
	assert_int_equal(payload[0], 0);
	put(back.buffer, 5, 5);
	assert_int_equal(chunked_nested_read(payload, size, back.buffer), -EBUSY);
	chunked_buffer_clear(back.buffer);
	assert_int_equal(chunked_nested_read(payload, size, back.buffer), 0);
	assert_int_equal(count_blocks(back.buffer), 0);
	put(back.buffer, 5, 5);
	free(payload);
	room_close(&outer);
	room_close(&back);
}

static void nothing_is_one_byte(void **state)
{
	struct room empty = single_room(ONE);

	assert_nests_nothing(NULL);
	assert_nests_nothing(empty.buffer);
	chunked_buffer_set_manager(empty.buffer, NULL);
	assert_nests_nothing(empty.buffer);
	room_close(&empty);
}

/* Fills `back` with what `inner` has, by way of a buffer of chunks of 128 bytes. */
static void nest_and_read(const struct room *inner, const struct room *back)
{
	struct room outer = room_of(100 * CHUNK, CHUNK);
	size_t size;
	uint8_t *payload;

	put(outer.buffer, 1, 20);
	chunked_buffer_clear(outer.buffer);
	assert_int_equal(chunked_nested_put(outer.buffer, inner->buffer, NULL), 0);
	payload = first_payload(outer.buffer, &size);
	assert_int_equal(chunked_nested_read(payload, size, back->buffer), 0);
	free(payload);
	room_close(&outer);
}

static void assert_same(const struct chunked_buffer *a, const struct chunked_buffer *b,
			size_t count)
{
	struct block_view block;
	uint64_t at = 0;
	size_t n;

	assert_state(b, chunked_buffer_get_state(a));
	for (n = 0; n < count; n++) {
		uint64_t index;

		assert_int_equal(read_at(a, at, &block), 0);
		index = block.index;
		assert_int_equal(read_at(b, at, &block), 0);
		assert_int_equal(block.index, index);
		assert_block(&block, n, 10 + n);
		at = block.next_index;
	}
	assert_int_equal(at, 0);
}

static void blocks_come_back_with_their_indexes_and_counts(void **state)
{
	size_t count;

	for (count = 1; count <= 20; count++) {
		struct room inner = single_room(ONE), back = single_room(ONE);
		size_t n;

		for (n = 0; n < count; n++)
			put(inner.buffer, n, 10 + n);
		if (chunked_buffer_get_state(inner.buffer).range_end > 380) {
			room_close(&inner);
			room_close(&back);
			break;
		}
		nest_and_read(&inner, &back);
		assert_same(inner.buffer, back.buffer, count);
		/* It goes on where the other one would. */
		assert_int_equal(put(back.buffer, count, 5),
				 chunked_buffer_get_state(inner.buffer).range_end);
		room_close(&inner);
		room_close(&back);
	}
	assert_true(count > 10);
}

static void a_full_chunk_comes_back_full(void **state)
{
	struct room inner = single_room(41), back = single_room(41);
	size_t n;

	for (n = 0; n < 3; n++)
		put(inner.buffer, n, 10 + n); /* 11 + 12 + 13 */
	put(inner.buffer, 3, 4);
	assert_int_equal(chunk_manager_get_stats(inner.manager).released_bytes, 41);
	nest_and_read(&inner, &back);
	assert_state(back.buffer, chunked_buffer_get_state(inner.buffer));
	assert_int_equal(count_blocks(back.buffer), 4);
	assert_int_equal(put_seeded(back.buffer, 9, 1, NULL), -ENOSPC);
	room_close(&inner);
	room_close(&back);
}

static void indexes_stay_after_a_clear(void **state)
{
	struct room inner = single_room(ONE), back = single_room(ONE);

	put(inner.buffer, 5, 100);
	chunked_buffer_clear(inner.buffer);
	put(inner.buffer, 0, 10);
	nest_and_read(&inner, &back);
	assert_int_equal(chunked_buffer_get_state(back.buffer).range_start, 1 + ONE);
	assert_same(inner.buffer, back.buffer, 1);
	room_close(&inner);
	room_close(&back);
}

static void several_chunks_cannot_be_nested(void **state)
{
	struct room inner = room_of(100 * CHUNK, CHUNK), outer = room_of(100 * CHUNK, CHUNK);
	size_t n;

	put(inner.buffer, 0, CHUNK - 1);
	assert_int_equal(chunked_nested_put(outer.buffer, inner.buffer, NULL), 0);
	for (n = 0; n < 2; n++)
		put(inner.buffer, n, CHUNK - 1);
	assert_int_equal(chunked_nested_put(outer.buffer, inner.buffer, NULL), -EINVAL);
	assert_int_equal(count_blocks(outer.buffer), 1);
	room_close(&inner);
	room_close(&outer);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct room inner = single_room(ONE), small = single_room(50), out = single_room(50);
	struct room outer = room_of(100 * CHUNK, CHUNK);
	size_t size;
	uint8_t *payload;

	put(inner.buffer, 0, 60);
	assert_int_equal(chunked_nested_put(outer.buffer, inner.buffer, NULL), 0);
	payload = first_payload(outer.buffer, &size);
	assert_int_equal(chunked_nested_read(payload, size, small.buffer), -ENOSPC);
	put(small.buffer, 1, 10);
	chunked_buffer_set_manager(out.buffer, NULL);
	assert_int_equal(chunked_nested_read(payload, size, out.buffer), -ENOTCONN);
	free(payload);
	room_close(&inner);
	room_close(&small);
	room_close(&out);
	room_close(&outer);
}

static void every_cut_and_every_turned_bit_is_refused_or_harmless(void **state)
{
	struct room inner = single_room(ONE), back = single_room(ONE);
	struct room outer = room_of(100 * CHUNK, CHUNK);
	size_t size, n, bit, count = 0;
	uint8_t *payload;

	put(inner.buffer, 0, 30);
	put(inner.buffer, 1, 5);
	assert_int_equal(chunked_nested_put(outer.buffer, inner.buffer, NULL), 0);
	payload = first_payload(outer.buffer, &size);
	for (n = 0; n < size; n++)
		assert_int_equal(chunked_nested_read(payload, n, back.buffer), -EBADMSG);
	for (bit = 0; bit < size * 8; bit++) {
		int err;

		payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
		err = chunked_nested_read(payload, size, back.buffer);
		assert_true(err == 0 || err == -EBADMSG);
		if (!err)
			err = chunked_buffer_each(back.buffer, count_block, &count);
		assert_true(err == 0 || err == -EBADMSG);
		chunked_buffer_set_manager(back.buffer, NULL);
		chunked_buffer_set_manager(back.buffer, back.manager);
		payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(payload);
	room_close(&inner);
	room_close(&back);
	room_close(&outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_one_byte),
		cmocka_unit_test(blocks_come_back_with_their_indexes_and_counts),
		cmocka_unit_test(a_full_chunk_comes_back_full),
		cmocka_unit_test(indexes_stay_after_a_clear),
		cmocka_unit_test(several_chunks_cannot_be_nested),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(every_cut_and_every_turned_bit_is_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
