/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunked.h - what the tests of the store and of chunked buffers share: a buffer, with a store of
 * its own or one of several under one limit, and blocks whose payload is known from a seed. After
 * cmocka.h.
 */
#ifndef GECKOBPF_TESTS_CHUNKED_H
#define GECKOBPF_TESTS_CHUNKED_H

#include "alloc.h"
#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_store.h"
#include "buffer/chunked_buffer.h"

#define CHUNK 128

struct room {
	struct chunk_store *store;
	struct chunked_buffer *buffer;
	bool is_alone;
};

static inline struct chunk_store *store_with(const struct chunk_store_config *config)
{
	struct chunk_store *store = NULL;

	assert_int_equal(chunk_store_open(&store, config), 0);
	return store;
}

/* All chunks of one size, but for those that a large block needs. */
static inline struct chunk_store *store_of(uint64_t max_bytes, uint32_t chunk_bytes)
{
	const struct chunk_store_config config = {
		.max_bytes = max_bytes,
		.chunk_first_bytes = chunk_bytes,
		.chunk_max_bytes = chunk_bytes,
	};

	return store_with(&config);
}

/* One of several. */
static inline struct room room_under(struct chunk_store *store, uint32_t process_id)
{
	struct room room = {.store = store};

	assert_int_equal(chunked_buffer_open(&room.buffer, store, process_id), 0);
	return room;
}

static inline struct room room_of(uint64_t max_bytes, uint32_t chunk_bytes)
{
	struct room room = room_under(store_of(max_bytes, chunk_bytes), 42);

	room.is_alone = true;
	return room;
}

static inline void room_close(struct room *room)
{
	chunked_buffer_close(room->buffer);
	if (room->is_alone)
		chunk_store_close(room->store);
}

static inline uint64_t lent(struct chunk_store *store)
{
	return chunk_store_get_stats(store).unreleased_bytes;
}

static inline uint64_t released(struct chunk_store *store)
{
	return chunk_store_get_stats(store).released_bytes;
}

static inline void assert_bytes(struct chunk_store *store, uint64_t is_lent, uint64_t is_released)
{
	assert_int_equal(lent(store), is_lent);
	assert_int_equal(released(store), is_released);
}

/* The oldest released chunk of all goes, for want of room. */
static inline void destroy_oldest(struct chunk_store *store)
{
	struct chunk_store_stats stats = chunk_store_get_stats(store);

	chunk_store_set_extra(store,
			      stats.max_bytes - stats.released_bytes - stats.unreleased_bytes);
	assert_int_equal(chunk_store_get_stats(store).destroyed, stats.destroyed + 1);
	chunk_store_set_extra(store, stats.extra_bytes);
}

/* ---- chunks of a buffer ------------------------------------------------------------ */

/* The oldest; NULL: none. */
static inline struct chunk *first_chunk(const struct chunked_buffer *buffer)
{
	struct chunk_walk walk;

	chunked_buffer_walk(buffer, &walk);
	return (struct chunk *)walk.chunk;
}

/* The one released after it; NULL: none. */
static inline struct chunk *next_chunk(const struct chunk *chunk)
{
	return TAILQ_NEXT(chunk, owned);
}

static inline struct chunk *nth_chunk(const struct chunked_buffer *buffer, size_t n)
{
	struct chunk *chunk = first_chunk(buffer);

	while (n--)
		chunk = next_chunk(chunk);
	return chunk;
}

/* ---- blocks -------------------------------------------------------------------------- */

/* Byte `n` of the payload of a block: no two places look alike. */
static inline uint8_t pattern(uint64_t seed, size_t n)
{
	return (uint8_t)(seed * 31 + n * 7 + (n >> 5) + 1);
}

static inline int put_seeded(struct chunked_buffer *buffer, uint64_t seed, size_t payload)
{
	static uint8_t bytes[1 << 17];
	size_t n;

	assert_true(payload <= sizeof(bytes));
	for (n = 0; n < payload; n++)
		bytes[n] = pattern(seed, n);
	return chunked_buffer_put(buffer, bytes, payload);
}

static inline size_t block_size(size_t payload)
{
	return leb128_size(payload) + payload;
}

/* Of the block that was put last. */
static inline uint64_t last_index(const struct chunked_buffer *buffer, size_t payload)
{
	return chunked_buffer_get_state(buffer).range_end - block_size(payload);
}

/* Returns the block's index. */
static inline uint64_t put(struct chunked_buffer *buffer, uint64_t seed, size_t payload)
{
	assert_int_equal(put_seeded(buffer, seed, payload), 0);
	return last_index(buffer, payload);
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
	err = chunk_walk_seek(&walk, index, block);
	chunk_walk_end(&walk);
	return err;
}

/* All readable blocks. 0; -EBADMSG: some could not be read; -ENOMEM. */
static inline int each_block(const struct chunked_buffer *buffer,
			     void (*visit)(void *context, const struct block_view *block),
			     void *context)
{
	struct block_view block;
	struct chunk_walk walk;
	int err;

	chunked_buffer_walk(buffer, &walk);
	while (!(err = chunk_walk_next(&walk, &block)))
		visit(context, &block);
	chunk_walk_end(&walk);
	if (err != -ENOENT)
		return err;
	return walk.lost ? -EBADMSG : 0;
}

static inline void count_block(void *context, const struct block_view *block)
{
	size_t *count = context;

	(*count)++;
}

static inline size_t count_blocks(const struct chunked_buffer *buffer)
{
	size_t count = 0;

	assert_int_equal(each_block(buffer, count_block, &count), 0);
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
