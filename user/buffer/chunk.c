/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk.c - states and lists of chunks. */
#include "buffer/chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

_Static_assert(sizeof(struct chunk_header) == 8 * sizeof(uint32_t) + 3 * sizeof(uint64_t),
	       "chunk headers have no padding");
_Static_assert(offsetof(struct chunk, bytes) == sizeof(struct chunk), "bytes follow at once");

struct chunk *chunk_create(uint32_t min_bytes)
{
	uint32_t bytes = min_bytes ? min_bytes : 1;
	struct chunk *chunk;
	size_t total;

	if (__builtin_add_overflow(sizeof(*chunk), bytes, &total))
		return NULL;
	/* Not zeroed: pages that are never written are never touched. */
	chunk = malloc(total);
	if (!chunk)
		return NULL;
	*chunk = (struct chunk){.header = {.buffer_bytes = bytes, .stored_bytes = bytes}};
	return chunk;
}

void chunk_destroy(struct chunk *chunk)
{
	if (!chunk)
		return;
	assert(chunk->header.state == CHUNK_CREATED || chunk->header.state == CHUNK_DONE ||
	       chunk->header.state == CHUNK_RECYCLED);
	free(chunk);
}

struct chunk_span chunk_reserve_initial_tail(struct chunk *chunk, uint32_t size)
{
	struct chunk_header *header = &chunk->header;

	assert(header->state == CHUNK_CREATED || header->state == CHUNK_RECYCLED);
	assert(size <= header->buffer_bytes);
	header->offset_first_block = size;
	header->offset_past_last_block = size;
	header->start_ns = clock_now_ns();
	header->state = CHUNK_IN_USE;
	return (struct chunk_span){chunk->bytes, size};
}

struct chunk_span chunk_reserve_block(struct chunk *chunk, uint32_t size, uint64_t *index)
{
	struct chunk_header *header = &chunk->header;
	uint32_t offset = header->offset_past_last_block;
	uint32_t remaining = chunk_remaining(chunk);

	assert(header->state == CHUNK_IN_USE);
	assert(header->range_start != 0 && size > 0);
	if (size >= remaining) {
		size = remaining;
		header->state = CHUNK_FULL;
	}
	header->offset_past_last_block += size;
	header->block_count++;
	*index = header->range_start + offset;
	return (struct chunk_span){chunk->bytes + offset, size};
}

void chunk_mark_done(struct chunk *chunk)
{
	assert(chunk->header.state == CHUNK_IN_USE || chunk->header.state == CHUNK_FULL);
	chunk->header.done_ns = clock_now_ns();
	chunk->header.state = CHUNK_DONE;
}

void chunk_mark_recycled(struct chunk *chunk)
{
	assert(chunk->header.state == CHUNK_DONE || chunk->header.state == CHUNK_CREATED ||
	       chunk->header.state == CHUNK_RECYCLED);
	assert(!chunk_is_compressed(chunk));
	chunk->header = (struct chunk_header){
		.buffer_bytes = chunk->header.buffer_bytes,
		.stored_bytes = chunk->header.stored_bytes,
		.state = CHUNK_RECYCLED,
	};
}

struct chunk *chunk_shrink(struct chunk *chunk)
{
	uint32_t bytes = chunk->header.offset_past_last_block;
	struct chunk *shrunk;

	assert(chunk->header.state == CHUNK_DONE && !chunk_is_compressed(chunk) && !chunk->next);
	if (!bytes)
		bytes = 1;
	shrunk = realloc(chunk, sizeof(*chunk) + bytes);
	if (!shrunk)
		return chunk;
	shrunk->header.buffer_bytes = bytes;
	shrunk->header.stored_bytes = bytes;
	return shrunk;
}

uint32_t chunk_remaining(const struct chunk *chunk)
{
	return chunk->header.buffer_bytes - chunk->header.offset_past_last_block;
}

uint64_t chunk_range_end(const struct chunk *chunk)
{
	return chunk->header.range_start + chunk->header.buffer_bytes;
}

struct chunk *chunk_last(struct chunk *chunk)
{
	while (chunk->next)
		chunk = chunk->next;
	return chunk;
}

void chunk_insert_next(struct chunk *chunk, struct chunk *inserted)
{
	if (!inserted)
		return;
	chunk_last(inserted)->next = chunk->next;
	chunk->next = inserted;
}

void chunk_set_last(struct chunk *chunk, struct chunk *appended)
{
	chunk_last(chunk)->next = appended;
}

struct chunk *chunk_join(struct chunk *first, struct chunk *second)
{
	if (!first)
		return second;
	chunk_set_last(first, second);
	return first;
}

struct chunk *chunk_release_next(struct chunk *chunk)
{
	struct chunk *next = chunk->next;

	chunk->next = NULL;
	return next;
}

void chunk_destroy_list(struct chunk *chunks)
{
	while (chunks) {
		struct chunk *next = chunk_release_next(chunks);

		chunk_destroy(chunks);
		chunks = next;
	}
}
