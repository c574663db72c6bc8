/* SPDX-License-Identifier: BSD-2-Clause */
/* chunked_buffer.c - puts blocks into chunks. */
#include "buffer/chunked_buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_store.h"

struct chunked_buffer {
	struct chunk_store *store;
	struct chunk_owner owner;
	struct chunk *current; /* has room for at least one byte; NULL: the next put begins one */
	uint32_t easy_end; /* up to there a block in the current chunk needs no thought */
	uint32_t process_id;
	uint64_t next_chunk_start; /* position at which the next chunk begins */
	uint64_t range_end, pushed, failed_bytes, failed; /* as in the state */
	uint64_t others_pushed;
};

/* ---- chunks ------------------------------------------------------------------ */

/*
 * The current chunk, with room for at least one byte, or NULL. Up to the middle there is nothing to
 * think of when a block is put; there the next chunk has to be asked for.
 */
static void set_current(struct chunked_buffer *buffer, struct chunk *chunk)
{
	buffer->current = chunk;
	buffer->easy_end = chunk ? chunk->header.buffer_bytes / 2 : 0;
}

static struct chunk_span begin_chunk(struct chunked_buffer *buffer, struct chunk *chunk,
				     uint32_t tail_bytes)
{
	struct chunk_span span = chunk_begin(chunk, buffer->next_chunk_start, tail_bytes);

	chunk->header.process_id = buffer->process_id;
	buffer->next_chunk_start = chunk_range_end(chunk);
	return span;
}

/* The current chunk, full or not, makes way for `next`, which may be NULL. */
static void advance(struct chunked_buffer *buffer, struct chunk *next)
{
	chunk_store_release(buffer->store, &buffer->owner, buffer->current);
	set_current(buffer, next);
}

/* Once a chunk. After that only the block that fills it is of interest. */
static void ask_for_next(struct chunked_buffer *buffer)
{
	buffer->easy_end = buffer->current->header.buffer_bytes - 1;
	chunk_store_request(buffer->store, &buffer->owner);
}

/* ---- life -------------------------------------------------------------------- */

int chunked_buffer_open(struct chunked_buffer **out, struct chunk_store *store, uint32_t process_id)
{
	struct chunked_buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return -ENOMEM;
	buffer->store = store;
	buffer->process_id = process_id;
	buffer->next_chunk_start = 1;
	buffer->range_end = 1;
	chunk_store_join(store, &buffer->owner);
	*out = buffer;
	return 0;
}

void chunked_buffer_close(struct chunked_buffer *buffer)
{
	if (!buffer)
		return;
	chunk_store_leave(buffer->store, &buffer->owner, buffer->current);
	free(buffer);
}

void chunked_buffer_finish(struct chunked_buffer *buffer)
{
	chunk_store_forgo(buffer->store, &buffer->owner);
	if (!buffer->current)
		return;
	buffer->current = chunk_store_shrink(buffer->store, buffer->current);
	buffer->next_chunk_start = chunk_range_end(buffer->current);
	advance(buffer, NULL);
}

/* ---- writing ----------------------------------------------------------------- */

/* Where a block is to be written: the end of the current chunk, then the tail in the next. */
struct block_room {
	struct chunk_span head, tail;
};

static void fill(struct chunk_span *span, const uint8_t *bytes, size_t size)
{
	if (!size)
		return;
	memcpy(span->bytes, bytes, size);
	span->bytes += size;
	span->size -= (uint32_t)size;
}

/* The next `size` bytes. */
static void fill_room(struct block_room *room, const uint8_t *bytes, size_t size)
{
	size_t head = size < room->head.size ? size : room->head.size;

	fill(&room->head, bytes, head);
	fill(&room->tail, bytes + head, size - head);
}

static int refuse(struct chunked_buffer *buffer, size_t block_bytes, int err)
{
	buffer->failed++;
	buffer->failed_bytes += block_bytes;
	return err;
}

/* An empty current chunk with room for the block; there is none yet. 0 or -ENOMEM. */
static int begin_current(struct chunked_buffer *buffer, uint32_t block_bytes)
{
	struct chunk *chunk;
	int err = chunk_store_get(buffer->store, &buffer->owner, block_bytes, &chunk);

	if (err)
		return err;
	begin_chunk(buffer, chunk, 0);
	set_current(buffer, chunk);
	return 0;
}

/* Makes sure of a current chunk and, where the block does not fit into it, of the one after it. */
static int prepare(struct chunked_buffer *buffer, uint32_t block_bytes, struct chunk **next)
{
	uint32_t remaining;
	int err = buffer->current ? 0 : begin_current(buffer, block_bytes);

	if (err)
		return err;
	remaining = chunk_remaining(buffer->current);
	if (block_bytes <= remaining)
		return 0;
	err = chunk_store_get(buffer->store, &buffer->owner, block_bytes - remaining, next);
	/* What is left here is then lost: no smaller block is put where this one was refused. */
	if (err)
		advance(buffer, NULL);
	return err;
}

static struct block_room reserve(struct chunked_buffer *buffer, uint32_t block_bytes,
				 struct chunk *next, bool is_other)
{
	struct chunk_header *current = &buffer->current->header;
	struct block_room room = {{NULL, 0}, {NULL, 0}};

	buffer->pushed++;
	buffer->others_pushed += is_other;
	current->other_count += is_other;
	buffer->range_end = current->range_start + current->offset_past_last_block + block_bytes;
	room.head = chunk_reserve_block(buffer->current, block_bytes);
	if (next)
		room.tail = begin_chunk(buffer, next, block_bytes - room.head.size);
	return room;
}

/* After bytes were added: releases the current chunk if it is full, asks for the next in time. */
static void settle(struct chunked_buffer *buffer)
{
	struct chunk *current = buffer->current;

	if (!chunk_remaining(current))
		advance(buffer, NULL);
	else if (current->header.offset_past_last_block > buffer->easy_end)
		ask_for_next(buffer);
}

static int put_slowly(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes,
		      bool is_other)
{
	uint8_t prefix[LEB128_MAX_BYTES_U64];
	size_t prefix_bytes = (size_t)(leb128_put(prefix, payload_bytes) - prefix);
	size_t block_bytes = prefix_bytes + payload_bytes;
	struct chunk *next = NULL;
	struct block_room room;
	int err;

	assert(payload_bytes > 0);
	if (block_bytes > MAX_BLOCK_BYTES)
		return refuse(buffer, block_bytes, -E2BIG);
	err = prepare(buffer, (uint32_t)block_bytes, &next);
	if (err)
		return refuse(buffer, block_bytes, err);
	room = reserve(buffer, (uint32_t)block_bytes, next, is_other);
	fill_room(&room, prefix, prefix_bytes);
	fill_room(&room, payload, payload_bytes);
	if (next)
		advance(buffer, next);
	settle(buffer);
	return 0;
}

int chunked_buffer_put(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes)
{
	struct chunk *chunk = buffer->current;
	uint32_t offset, end;

	if (payload_bytes - 1 >= 0x7f || !chunk)
		return put_slowly(buffer, payload, payload_bytes, false);
	offset = chunk->header.offset_past_last_block;
	end = offset + 1 + (uint32_t)payload_bytes;
	if (end > buffer->easy_end)
		return put_slowly(buffer, payload, payload_bytes, false);
	chunk->bytes[offset] = (uint8_t)payload_bytes;
	memcpy(chunk->bytes + offset + 1, payload, payload_bytes);
	chunk->header.offset_past_last_block = end;
	chunk->header.block_count++;
	buffer->pushed++;
	buffer->range_end = chunk->header.range_start + end;
	return 0;
}

int chunked_buffer_put_other(struct chunked_buffer *buffer, const void *payload,
			     size_t payload_bytes)
{
	return put_slowly(buffer, payload, payload_bytes, true);
}

bool chunked_buffer_starts_chunk(const struct chunked_buffer *buffer)
{
	return !buffer->current || !buffer->current->header.block_count;
}

/* ---- reading ----------------------------------------------------------------- */

void chunked_buffer_walk(const struct chunked_buffer *buffer, struct chunk_walk *walk)
{
	chunk_walk_begin(walk, &buffer->owner.released, buffer->current,
			 chunk_store_expander(buffer->store));
}

struct chunked_buffer_state chunked_buffer_get_state(const struct chunked_buffer *buffer)
{
	const struct chunk_owner *owner = &buffer->owner;
	uint64_t start = owner->range_start ? owner->range_start : 1;

	return (struct chunked_buffer_state){
		.range_start = start,
		/* When nothing is left, the hole after the last block is gone as well. */
		.range_end = buffer->range_end > start ? buffer->range_end : start,
		.pushed = buffer->pushed,
		.cleared = owner->cleared,
		.failed_bytes = buffer->failed_bytes,
		.failed = buffer->failed,
	};
}

struct chunked_buffer_others chunked_buffer_get_others(const struct chunked_buffer *buffer)
{
	return (struct chunked_buffer_others){buffer->others_pushed, buffer->owner.others_cleared};
}
