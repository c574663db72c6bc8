/* SPDX-License-Identifier: BSD-2-Clause */
/* chunked_buffer.c - puts blocks into chunks and finds them again. */
#include "buffer/chunked_buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager.h"

struct chunked_buffer {
	struct chunk_manager *manager; /* NULL: out of session */
	struct chunk *current; /* has room for at least one byte; NULL: the next put begins one */
	struct chunk *spare; /* lent and unused: what clear() left */
	uint64_t next_chunk_start; /* index at which the next chunk begins */
	uint32_t process_id;
	struct chunk_owner owner;
	struct chunked_buffer_state state;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- life -------------------------------------------------------------------- */

static void on_chunk_destroy(void *context, const struct chunk *chunk)
{
	struct chunked_buffer *buffer = context;
	struct chunked_buffer_state *state = &buffer->state;

	state->range_start = later(state->range_start, chunk_range_end(chunk));
	/* When nothing is left, the hole after the last block is gone as well. */
	state->range_end = later(state->range_end, state->range_start);
	state->cleared += chunk->header.block_count;
}

int chunked_buffer_open(struct chunked_buffer **out, uint32_t process_id)
{
	struct chunked_buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return -ENOMEM;
	buffer->next_chunk_start = 1;
	buffer->process_id = process_id;
	buffer->owner = (struct chunk_owner){on_chunk_destroy, buffer};
	buffer->state = (struct chunked_buffer_state){.range_start = 1, .range_end = 1};
	*out = buffer;
	return 0;
}

/* All chunks with blocks, oldest first, done and lent; the buffer has no current one then. */
static struct chunk *detach_chunks(struct chunked_buffer *buffer)
{
	struct chunk *current = buffer->current;

	buffer->current = NULL;
	if (current)
		chunk_mark_done(current);
	return chunk_join(chunk_manager_reclaim(buffer->manager, &buffer->owner), current);
}

static void empty_state(struct chunked_buffer *buffer, uint64_t at)
{
	buffer->state = (struct chunked_buffer_state){.range_start = at, .range_end = at};
}

static void end_session(struct chunked_buffer *buffer)
{
	if (!buffer->manager)
		return;
	chunk_manager_give_back(buffer->manager, detach_chunks(buffer));
	chunk_manager_give_back(buffer->manager, buffer->spare);
	buffer->spare = NULL;
	buffer->manager = NULL;
	empty_state(buffer, buffer->state.range_end);
	buffer->next_chunk_start = buffer->state.range_end;
}

void chunked_buffer_close(struct chunked_buffer *buffer)
{
	if (!buffer)
		return;
	end_session(buffer);
	free(buffer);
}

void chunked_buffer_set_manager(struct chunked_buffer *buffer, struct chunk_manager *manager)
{
	end_session(buffer);
	buffer->manager = manager;
}

/* ---- writing ----------------------------------------------------------------- */

void block_room_write(struct block_room *room, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	size_t head = size < room->head_bytes ? size : room->head_bytes;

	assert(size - head <= room->tail_bytes);
	if (head) {
		memcpy(room->head, bytes, head);
		room->head += head;
		room->head_bytes -= head;
	}
	if (size > head) {
		memcpy(room->tail, bytes + head, size - head);
		room->tail += size - head;
		room->tail_bytes -= size - head;
	}
}

static int fetch_chunk(struct chunked_buffer *buffer, struct chunk **out)
{
	struct chunk *chunk = buffer->spare;

	if (!chunk)
		return chunk_manager_get(buffer->manager, out);
	buffer->spare = chunk_release_next(chunk);
	*out = chunk;
	return 0;
}

static struct chunk_span begin_chunk(struct chunked_buffer *buffer, struct chunk *chunk,
				     uint32_t tail)
{
	struct chunk_span span = chunk_reserve_initial_tail(chunk, tail);

	chunk->owner = &buffer->owner;
	chunk->header.range_start = buffer->next_chunk_start;
	chunk->header.process_id = buffer->process_id;
	buffer->next_chunk_start = chunk_range_end(chunk);
	return span;
}

/* The current chunk, full or not, makes way for `next`, which may be NULL. */
static void advance(struct chunked_buffer *buffer, struct chunk *next)
{
	chunk_mark_done(buffer->current);
	chunk_manager_release(buffer->manager, buffer->current);
	buffer->current = next;
}

static int refuse(struct chunked_buffer *buffer, size_t block_bytes, int err)
{
	buffer->state.failed++;
	buffer->state.failed_bytes += block_bytes;
	return err;
}

/* Makes sure of a current chunk and, where the block does not fit into it, of the one after it. */
static int prepare(struct chunked_buffer *buffer, size_t block_bytes, struct chunk **next)
{
	int err;

	if (block_bytes > chunk_manager_chunk_bytes(buffer->manager))
		return -E2BIG;
	if (!buffer->current) {
		err = fetch_chunk(buffer, &buffer->current);
		if (err)
			return err;
		begin_chunk(buffer, buffer->current, 0);
	}
	if (block_bytes <= chunk_remaining(buffer->current))
		return 0;
	err = fetch_chunk(buffer, next);
	/* What is left here is then lost: no smaller block is put where this one was refused. */
	if (err)
		advance(buffer, NULL);
	return err;
}

static struct block_room reserve(struct chunked_buffer *buffer, uint32_t block_bytes,
				 struct chunk *next, uint64_t *index)
{
	struct chunk_span head = chunk_reserve_block(buffer->current, block_bytes, index);
	struct chunk_span tail = {NULL, 0};

	if (next)
		tail = begin_chunk(buffer, next, block_bytes - head.size);
	buffer->state.pushed++;
	buffer->state.range_end = *index + block_bytes;
	return (struct block_room){
		.head = head.bytes,
		.head_bytes = head.size,
		.tail = tail.bytes,
		.tail_bytes = tail.size,
	};
}

int chunked_buffer_reserve_and_put(struct chunked_buffer *buffer, size_t payload_bytes,
				   void (*write)(void *context, struct block_room *room),
				   void *context, uint64_t *index)
{
	uint8_t prefix[LEB128_MAX_BYTES_U64];
	size_t prefix_bytes = (size_t)(leb128_put(prefix, payload_bytes) - prefix);
	size_t block_bytes = prefix_bytes + payload_bytes;
	struct chunk *next = NULL;
	struct block_room room;
	uint64_t at;
	int err;

	assert(payload_bytes > 0);
	if (!buffer->manager)
		return -ENOTCONN;
	err = prepare(buffer, block_bytes, &next);
	if (err)
		return refuse(buffer, block_bytes, err);
	room = reserve(buffer, (uint32_t)block_bytes, next, &at);
	block_room_write(&room, prefix, prefix_bytes);
	write(context, &room);
	assert(room.head_bytes == 0 && room.tail_bytes == 0);
	if (buffer->current->header.state == CHUNK_FULL)
		advance(buffer, next);
	if (index)
		*index = at;
	return 0;
}

struct plain_payload {
	const void *bytes;
	size_t size;
};

static void write_plain(void *context, struct block_room *room)
{
	const struct plain_payload *payload = context;

	block_room_write(room, payload->bytes, payload->size);
}

int chunked_buffer_put(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes,
		       uint64_t *index)
{
	struct plain_payload plain = {payload, payload_bytes};

	return chunked_buffer_reserve_and_put(buffer, payload_bytes, write_plain, &plain, index);
}

bool chunked_buffer_starts_chunk(const struct chunked_buffer *buffer)
{
	return !buffer->current || !buffer->current->header.block_count;
}

/* ---- reading ----------------------------------------------------------------- */

/*
 * `chunk` or the first of this buffer after it in the manager's list; then the current one; then
 * NULL.
 */
static const struct chunk *own_or_current(const struct chunked_buffer *buffer,
					  const struct chunk *chunk)
{
	while (chunk && chunk->owner != &buffer->owner)
		chunk = chunk->next;
	return chunk ? chunk : buffer->current;
}

static const struct chunk *first_chunk(const struct chunked_buffer *buffer)
{
	if (!buffer->manager)
		return NULL;
	return own_or_current(buffer, chunk_manager_peek(buffer->manager));
}

/* The chunk that continues `chunk`; NULL: none, or something is missing in between. */
static const struct chunk *chunk_after(const struct chunked_buffer *buffer,
				       const struct chunk *chunk)
{
	const struct chunk *next;

	if (chunk == buffer->current)
		return NULL;
	next = own_or_current(buffer, chunk->next);
	if (!next || next->header.range_start != chunk_range_end(chunk))
		return NULL;
	return next;
}

/* A place in the stream. `limit` is where this chunk's part of what is being read must end. */
struct cursor {
	const struct chunked_buffer *buffer;
	const struct chunk *chunk; /* NULL: past the end */
	uint32_t offset, limit;
};

static void cursor_enter(struct cursor *cursor, const struct chunk *chunk)
{
	cursor->chunk = chunk && chunk->header.range_start ? chunk : NULL;
	if (!cursor->chunk)
		return;
	cursor->offset = chunk->header.offset_first_block;
	cursor->limit = chunk->header.offset_past_last_block;
}

/* From the end of a chunk's blocks, full or not, to the first block of a later chunk. */
static void cursor_settle(struct cursor *cursor)
{
	while (cursor->chunk && cursor->offset >= cursor->limit)
		cursor_enter(cursor, chunk_after(cursor->buffer, cursor->chunk));
}

static uint64_t cursor_index(const struct cursor *cursor)
{
	return cursor->chunk ? cursor->chunk->header.range_start + cursor->offset : 0;
}

/* Within a block: from the end of a full chunk into the initial tail of the next. */
static bool cursor_cross(struct cursor *cursor)
{
	const struct chunk *chunk = cursor->chunk, *next;

	if (cursor->offset != chunk->header.buffer_bytes)
		return false;
	next = chunk_after(cursor->buffer, chunk);
	if (!next)
		return false;
	cursor->chunk = next;
	cursor->offset = 0;
	cursor->limit = next->header.offset_first_block;
	return true;
}

static bool cursor_read_size(struct cursor *cursor, uint32_t *size)
{
	uint8_t bytes[LEB128_MAX_BYTES_U32];
	uint64_t value;
	size_t n;

	for (n = 0; n < sizeof(bytes); n++) {
		if (cursor->offset == cursor->limit && !cursor_cross(cursor))
			return false;
		if (cursor->offset >= cursor->limit)
			return false;
		bytes[n] = cursor->chunk->bytes[cursor->offset++];
		if (!(bytes[n] & 0x80))
			break;
	}
	if (n == sizeof(bytes) || !leb128_get(bytes, bytes + n + 1, &value))
		return false;
	*size = (uint32_t)value;
	return value != 0 && value <= cursor->chunk->header.buffer_bytes;
}

static const uint8_t *cursor_take(struct cursor *cursor, size_t size)
{
	const uint8_t *bytes = cursor->chunk->bytes + cursor->offset;

	cursor->offset += (uint32_t)size;
	return bytes;
}

/* The payload at the cursor: all here, or as much as there is and the rest in the next chunk. */
static bool cursor_read_payload(struct cursor *cursor, size_t size, struct block_view *block)
{
	size_t here;

	if (cursor->offset == cursor->limit && !cursor_cross(cursor))
		return false;
	here = cursor->limit - cursor->offset;
	block->head_bytes = size < here ? size : here;
	block->head = cursor_take(cursor, block->head_bytes);
	block->tail_bytes = size - block->head_bytes;
	block->tail = NULL;
	if (!block->tail_bytes)
		return true;
	if (!cursor_cross(cursor) || block->tail_bytes > cursor->limit)
		return false;
	block->tail = cursor_take(cursor, block->tail_bytes);
	return true;
}

/*
 * Reads the block at the cursor and moves to the next one. False: there is none, or it makes no
 * sense.
 */
static bool cursor_read(struct cursor *cursor, struct block_view *block)
{
	const struct chunk *first;
	uint32_t size;

	cursor_settle(cursor);
	first = cursor->chunk;
	if (!first)
		return false;
	block->index = cursor_index(cursor);
	if (!cursor_read_size(cursor, &size) || !cursor_read_payload(cursor, size, block))
		return false;
	if (cursor->chunk != first) {
		if (cursor->offset != cursor->limit)
			return false;
		cursor_enter(cursor, cursor->chunk);
	}
	cursor_settle(cursor);
	block->next_index = cursor_index(cursor);
	return true;
}

static struct cursor cursor_begin(const struct chunked_buffer *buffer)
{
	struct cursor cursor = {.buffer = buffer};

	cursor_enter(&cursor, first_chunk(buffer));
	return cursor;
}

const uint8_t *block_view_bytes(const struct block_view *block, uint8_t *copy)
{
	if (!block->tail_bytes)
		return block->head;
	memcpy(copy, block->head, block->head_bytes);
	memcpy(copy + block->head_bytes, block->tail, block->tail_bytes);
	return copy;
}

int chunked_buffer_each(const struct chunked_buffer *buffer,
			int (*visit)(void *context, const struct block_view *block), void *context)
{
	struct cursor cursor = cursor_begin(buffer);
	struct block_view block;

	while (cursor_read(&cursor, &block)) {
		int result = visit(context, &block);

		if (result)
			return result;
	}
	return 0;
}

/* Skips chunks whose blocks all begin before `index`. */
static void cursor_skip_chunks(struct cursor *cursor, uint64_t index)
{
	while (cursor->chunk && cursor->chunk != cursor->buffer->current &&
	       chunk_range_end(cursor->chunk) <= index)
		cursor_enter(cursor, chunk_after(cursor->buffer, cursor->chunk));
}

int chunked_buffer_read_at(const struct chunked_buffer *buffer, uint64_t index,
			   struct block_view *out)
{
	struct cursor cursor = cursor_begin(buffer);
	struct block_view block;

	cursor_skip_chunks(&cursor, index);
	while (cursor_read(&cursor, &block)) {
		if (block.index >= index) {
			*out = block;
			return 0;
		}
	}
	return -ENOENT;
}

/* ---- emptying ---------------------------------------------------------------- */

void chunked_buffer_clear(struct chunked_buffer *buffer)
{
	struct chunk *chunks, *chunk;

	if (!buffer->manager)
		return;
	chunks = detach_chunks(buffer);
	for (chunk = chunks; chunk; chunk = chunk->next)
		chunk_mark_recycled(chunk);
	buffer->spare = chunk_join(buffer->spare, chunks);
	empty_state(buffer, buffer->next_chunk_start);
}

struct chunk *chunked_buffer_take_chunks(struct chunked_buffer *buffer)
{
	struct chunk *chunks;

	if (!buffer->manager)
		return NULL;
	chunks = detach_chunks(buffer);
	chunk_manager_forget(buffer->manager, chunks);
	buffer->state.range_start = buffer->next_chunk_start;
	buffer->state.range_end = buffer->next_chunk_start;
	return chunks;
}

bool chunked_buffer_is_current(const struct chunked_buffer *buffer, uint64_t index)
{
	const struct chunk *chunk = buffer->current;

	return chunk && index >= chunk->header.range_start &&
	       index < chunk->header.range_start + chunk->header.offset_past_last_block;
}

struct chunked_buffer_state chunked_buffer_get_state(const struct chunked_buffer *buffer)
{
	return buffer->state;
}
