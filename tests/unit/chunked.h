/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunked.h - what the tests of the chunked buffer share: a buffer with a manager of its own, and
 * blocks whose payload is known from a seed. After cmocka.h.
 */
#ifndef GECKOBPF_TESTS_CHUNKED_H
#define GECKOBPF_TESTS_CHUNKED_H

#include "alloc.h"
#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager.h"
#include "buffer/chunk_manager_limit.h"
#include "buffer/chunked_buffer.h"
#include "buffer/memory_controller.h"

#define CHUNK 128

struct room {
	struct chunk_manager *manager;
	struct chunked_buffer *buffer;
};

/* All chunks of one size, but for those that a large block needs. */
static inline int open_manager(struct chunk_manager **manager, uint64_t max_bytes,
			       uint32_t chunk_bytes)
{
	const struct chunk_manager_limit_config config = {
		.max_total_bytes = max_bytes,
		.chunk_max_bytes = chunk_bytes,
	};

	return chunk_manager_limit_open(manager, &config);
}

static inline struct room room_of(uint64_t max_bytes, uint32_t chunk_bytes)
{
	struct room room;

	assert_int_equal(open_manager(&room.manager, max_bytes, chunk_bytes), 0);
	assert_int_equal(chunked_buffer_open(&room.buffer, 42), 0);
	chunked_buffer_set_manager(room.buffer, room.manager);
	return room;
}

/* One limit for several rooms, and chunks of one size. */
static inline struct memory_controller *controller_of(uint64_t max_bytes, uint32_t chunk_bytes)
{
	struct memory_controller *controller = NULL;
	const struct memory_controller_config config = {
		.max_bytes = max_bytes,
		.chunk_first_bytes = chunk_bytes,
		.chunk_max_bytes = chunk_bytes,
	};

	assert_int_equal(memory_controller_open(&controller, &config), 0);
	return controller;
}

static inline struct room room_under(struct memory_controller *controller, uint32_t process_id)
{
	struct room room;

	assert_int_equal(memory_controller_manager(controller, &room.manager), 0);
	assert_int_equal(chunked_buffer_open(&room.buffer, process_id), 0);
	chunked_buffer_set_manager(room.buffer, room.manager);
	return room;
}

static inline void room_close(struct room *room)
{
	chunked_buffer_close(room->buffer);
	chunk_manager_close(room->manager);
}

/* Byte `n` of the payload that begins at `index`: no two places look alike. */
static inline uint8_t pattern(uint64_t seed, size_t n)
{
	return (uint8_t)(seed * 31 + n * 7 + (n >> 5) + 1);
}

static inline int put_seeded(struct chunked_buffer *buffer, uint64_t seed, size_t payload,
			     uint64_t *index)
{
	static uint8_t bytes[1 << 17];
	size_t n;

	assert_true(payload <= sizeof(bytes));
	for (n = 0; n < payload; n++)
		bytes[n] = pattern(seed, n);
	return chunked_buffer_put(buffer, bytes, payload, index);
}

static inline uint64_t put(struct chunked_buffer *buffer, uint64_t seed, size_t payload)
{
	uint64_t index = 0;

	assert_int_equal(put_seeded(buffer, seed, payload, &index), 0);
	return index;
}

static inline size_t view_size(const struct block_view *block)
{
	return block->head_bytes + block->tail_bytes;
}

static inline void assert_block(const struct block_view *block, uint64_t seed, size_t payload)
{
	static uint8_t copy[1 << 17];
	const uint8_t *bytes;
	size_t n;

	assert_int_equal(view_size(block), payload);
	bytes = block_view_bytes(block, copy);
	for (n = 0; n < payload; n++)
		assert_int_equal(bytes[n], pattern(seed, n));
}

static inline void assert_state(const struct chunked_buffer *buffer,
				struct chunked_buffer_state wanted)
{
	struct chunked_buffer_state state = chunked_buffer_get_state(buffer);

	assert_int_equal(state.range_start, wanted.range_start);
	assert_int_equal(state.range_end, wanted.range_end);
	assert_int_equal(state.pushed, wanted.pushed);
	assert_int_equal(state.cleared, wanted.cleared);
	assert_int_equal(state.failed_bytes, wanted.failed_bytes);
	assert_int_equal(state.failed, wanted.failed);
}

/* The first block at or after `index`; nothing is compressed, so that the view stays valid. */
static inline int read_at(const struct chunked_buffer *buffer, uint64_t index,
			  struct block_view *block)
{
	struct chunk_walk walk;
	int err;

	chunked_buffer_walk(buffer, &walk);
	err = chunked_buffer_read_at(&walk, index, block);
	chunk_walk_end(&walk);
	return err;
}

static inline int count_block(void *context, const struct block_view *block)
{
	size_t *count = context;

	(*count)++;
	return 0;
}

static inline size_t count_blocks(const struct chunked_buffer *buffer)
{
	size_t count = 0;

	assert_int_equal(chunked_buffer_each(buffer, count_block, &count), 0);
	return count;
}

/* Leaves exactly `room_left` bytes in a fresh chunk of `chunk_bytes`. Returns the blocks put. */
static inline size_t fill_up_to(struct chunked_buffer *buffer, size_t chunk_bytes, size_t room_left)
{
	size_t fill = chunk_bytes - room_left, count = 0;

	while (fill) {
		size_t block = fill % 2 ? 3 : 2;

		put(buffer, count++, block - 1);
		fill -= block;
	}
	return count;
}

#endif
