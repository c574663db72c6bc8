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
	struct chunk *next; /* lent and unused */
	uint32_t easy_end; /* up to there a block in the current chunk needs no thought */
	bool is_requested; /* one for `next` */
	uint32_t process_id;
	uint64_t next_chunk_start; /* index at which the next chunk begins */
	struct chunked_buffer_state state;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

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

static void on_next_chunk(void *context, struct chunk *chunk)
{
	struct chunked_buffer *buffer = context;

	buffer->is_requested = false;
	if (chunk)
		buffer->next = chunk_join(buffer->next, chunk);
}

/* Once a chunk. After that only the block that fills it is of interest. */
static void ask_for_next(struct chunked_buffer *buffer)
{
	const struct chunk_receiver receiver = {on_next_chunk, buffer};

	buffer->easy_end = buffer->current->header.buffer_bytes - 1;
	if (buffer->next || buffer->is_requested)
		return;
	buffer->is_requested = true;
	chunk_manager_request(buffer->manager, &receiver);
}

/* Gives back what was fetched in advance, and asks no more. */
static void drop_next(struct chunked_buffer *buffer)
{
	if (buffer->is_requested)
		chunk_manager_request(buffer->manager, NULL);
	buffer->is_requested = false;
	chunk_manager_give_back(buffer->manager, buffer->next);
	buffer->next = NULL;
}

static struct chunk *take_next(struct chunked_buffer *buffer, uint32_t min_bytes)
{
	struct chunk **link = &buffer->next, *chunk;

	while (*link && (*link)->header.buffer_bytes < min_bytes)
		link = &(*link)->next;
	chunk = *link;
	if (chunk)
		*link = chunk_release_next(chunk);
	return chunk;
}

static int fetch_chunk(struct chunked_buffer *buffer, uint32_t min_bytes, struct chunk **out)
{
	if (!buffer->next && buffer->is_requested) {
		chunk_manager_fulfil(buffer->manager);
		if (!buffer->next)
			return -ENOMEM;
	}
	*out = take_next(buffer, min_bytes);
	return *out ? 0 : chunk_manager_get(buffer->manager, min_bytes, out);
}

static struct chunk_span begin_chunk(struct chunked_buffer *buffer, struct chunk *chunk,
				     uint32_t tail)
{
	struct chunk_span span = chunk_reserve_initial_tail(chunk, tail);

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
	set_current(buffer, next);
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
	buffer->state = (struct chunked_buffer_state){.range_start = 1, .range_end = 1};
	*out = buffer;
	return 0;
}

/* The current chunk, done, which is the buffer's no more; NULL: there was none. */
static struct chunk *detach_current(struct chunked_buffer *buffer)
{
	struct chunk *current = buffer->current;

	set_current(buffer, NULL);
	if (current)
		chunk_mark_done(current);
	return current;
}

static void empty_state(struct chunked_buffer *buffer, uint64_t at)
{
	buffer->state = (struct chunked_buffer_state){.range_start = at, .range_end = at};
}

static void end_session(struct chunked_buffer *buffer)
{
	struct chunk_manager *manager = buffer->manager;

	if (!manager)
		return;
	chunk_manager_set_witness(manager, (struct chunk_witness){0});
	drop_next(buffer);
	chunk_manager_give_back(manager, detach_current(buffer));
	chunk_manager_destroy_at_or_before(manager, UINT64_MAX);
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
	if (manager)
		chunk_manager_set_witness(manager,
					  (struct chunk_witness){on_chunk_destroy, buffer});
}

void chunked_buffer_finish(struct chunked_buffer *buffer)
{
	struct chunk *last;

	if (!buffer->manager)
		return;
	drop_next(buffer);
	last = detach_current(buffer);
	if (!last)
		return;
	last = chunk_manager_shrink(buffer->manager, last);
	buffer->next_chunk_start = chunk_range_end(last);
	chunk_manager_release(buffer->manager, last);
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

static int refuse(struct chunked_buffer *buffer, size_t block_bytes, int err)
{
	buffer->state.failed++;
	buffer->state.failed_bytes += block_bytes;
	return err;
}

/* An empty current chunk with room for `min_bytes`; there is none yet. 0 or -ENOMEM. */
static int begin_current(struct chunked_buffer *buffer, uint32_t min_bytes)
{
	struct chunk *chunk;
	int err = fetch_chunk(buffer, min_bytes, &chunk);

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
	int err = 0;

	if (!buffer->current)
		err = begin_current(buffer, block_bytes);
	if (err)
		return err;
	remaining = chunk_remaining(buffer->current);
	if (block_bytes <= remaining)
		return 0;
	err = fetch_chunk(buffer, block_bytes - remaining, next);
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

/* After bytes were added: releases the current chunk if it is full, asks for the next in time. */
static void settle(struct chunked_buffer *buffer)
{
	struct chunk *current = buffer->current;

	if (!chunk_remaining(current))
		advance(buffer, NULL);
	else if (current->header.offset_past_last_block > buffer->easy_end)
		ask_for_next(buffer);
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
	if (block_bytes > buffer->manager->max_block_bytes)
		return refuse(buffer, block_bytes, -E2BIG);
	err = prepare(buffer, (uint32_t)block_bytes, &next);
	if (err)
		return refuse(buffer, block_bytes, err);
	room = reserve(buffer, (uint32_t)block_bytes, next, &at);
	block_room_write(&room, prefix, prefix_bytes);
	write(context, &room);
	assert(room.head_bytes == 0 && room.tail_bytes == 0);
	if (next)
		advance(buffer, next);
	settle(buffer);
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

static int put_slowly(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes,
		      uint64_t *index)
{
	struct plain_payload plain = {payload, payload_bytes};

	return chunked_buffer_reserve_and_put(buffer, payload_bytes, write_plain, &plain, index);
}

int chunked_buffer_put(struct chunked_buffer *buffer, const void *payload, size_t payload_bytes,
		       uint64_t *index)
{
	struct chunk *chunk = buffer->current;
	uint32_t offset, end;

	if (payload_bytes - 1 >= 0x7f || !chunk)
		return put_slowly(buffer, payload, payload_bytes, index);
	offset = chunk->header.offset_past_last_block;
	end = offset + 1 + (uint32_t)payload_bytes;
	if (end > buffer->easy_end)
		return put_slowly(buffer, payload, payload_bytes, index);
	chunk->bytes[offset] = (uint8_t)payload_bytes;
	memcpy(chunk->bytes + offset + 1, payload, payload_bytes);
	chunk->header.offset_past_last_block = end;
	chunk->header.block_count++;
	buffer->state.pushed++;
	buffer->state.range_end = chunk->header.range_start + end;
	if (index)
		*index = chunk->header.range_start + offset;
	return 0;
}

bool chunked_buffer_starts_chunk(const struct chunked_buffer *buffer)
{
	return !buffer->current || !buffer->current->header.block_count;
}

/* ---- reading ----------------------------------------------------------------- */

void chunked_buffer_walk(const struct chunked_buffer *buffer, struct chunk_walk *walk)
{
	const struct chunk_manager *manager = buffer->manager;

	chunk_walk_begin(walk, manager ? chunk_manager_peek(manager) : NULL, buffer->current,
			 manager ? manager->expander : NULL);
}

int chunked_buffer_each(const struct chunked_buffer *buffer,
			int (*visit)(void *context, const struct block_view *block), void *context)
{
	struct block_view block;
	struct chunk_walk walk;
	int result;

	chunked_buffer_walk(buffer, &walk);
	for (;;) {
		result = chunk_walk_next(&walk, &block);
		if (result == -ENOENT) {
			result = walk.lost ? -EBADMSG : 0;
			break;
		}
		if (!result)
			result = visit(context, &block);
		if (result)
			break;
	}
	chunk_walk_end(&walk);
	return result;
}

int chunked_buffer_read_at(struct chunk_walk *walk, uint64_t index, struct block_view *out)
{
	struct block_view block;
	int err;

	chunk_walk_skip(walk, index);
	do {
		err = chunk_walk_next(walk, &block);
		if (err)
			return err;
	} while (block.index < index);
	*out = block;
	return 0;
}

/* ---- emptying ---------------------------------------------------------------- */

/* All chunks with blocks, oldest first, done and lent. */
static struct chunk *detach_chunks(struct chunked_buffer *buffer)
{
	struct chunk *current = detach_current(buffer);

	return chunk_join(chunk_manager_reclaim(buffer->manager), current);
}

void chunked_buffer_clear(struct chunked_buffer *buffer)
{
	struct chunk *chunks, *chunk;

	if (!buffer->manager)
		return;
	chunks = detach_chunks(buffer);
	while ((chunk = chunks) != NULL) {
		chunks = chunk_release_next(chunk);
		if (chunk_is_compressed(chunk)) {
			chunk_manager_give_back(buffer->manager, chunk);
			continue;
		}
		chunk_mark_recycled(chunk);
		buffer->next = chunk_join(buffer->next, chunk);
	}
	empty_state(buffer, buffer->next_chunk_start);
}

struct chunk *chunked_buffer_take_chunks(struct chunked_buffer *buffer)
{
	struct chunk *chunks;

	if (!buffer->manager)
		return NULL;
	drop_next(buffer);
	chunks = detach_chunks(buffer);
	chunk_manager_forget(buffer->manager);
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
