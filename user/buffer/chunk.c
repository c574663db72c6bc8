/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk.c - the states of a chunk. */
#include "buffer/chunk.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"

_Static_assert(sizeof(struct chunk_header) == 8 * sizeof(uint32_t) + 3 * sizeof(uint64_t),
	       "chunk headers have no padding");

struct chunk *chunk_create(uint32_t bytes)
{
	/* Not zeroed: pages that are never written are never touched. */
	struct chunk *chunk = malloc(sizeof(*chunk) + (size_t)bytes);

	if (!chunk)
		return NULL;
	*chunk = (struct chunk){.header = {.buffer_bytes = bytes, .stored_bytes = bytes}};
	return chunk;
}

void chunk_destroy(struct chunk *chunk)
{
	assert(!chunk || chunk->header.state != CHUNK_IN_USE);
	free(chunk);
}

struct chunk_span chunk_begin(struct chunk *chunk, uint64_t range_start, uint32_t tail_bytes)
{
	struct chunk_header *header = &chunk->header;

	assert(header->state == CHUNK_EMPTY);
	assert(range_start > 0 && tail_bytes <= header->buffer_bytes);
	header->offset_first_block = tail_bytes;
	header->offset_past_last_block = tail_bytes;
	header->range_start = range_start;
	header->start_ns = clock_now_ns();
	header->state = CHUNK_IN_USE;
	return (struct chunk_span){chunk->bytes, tail_bytes};
}

struct chunk_span chunk_reserve_block(struct chunk *chunk, uint32_t size)
{
	struct chunk_header *header = &chunk->header;
	uint32_t offset = header->offset_past_last_block, remaining = chunk_remaining(chunk);

	assert(header->state == CHUNK_IN_USE);
	assert(size > 0 && remaining > 0);
	if (size > remaining)
		size = remaining;
	header->offset_past_last_block += size;
	header->block_count++;
	return (struct chunk_span){chunk->bytes + offset, size};
}

void chunk_mark_done(struct chunk *chunk)
{
	assert(chunk->header.state == CHUNK_IN_USE);
	chunk->header.done_ns = clock_now_ns();
	chunk->header.state = CHUNK_DONE;
}

void chunk_recycle(struct chunk *chunk)
{
	assert(!chunk_is_compressed(chunk));
	chunk->header = (struct chunk_header){
		.buffer_bytes = chunk->header.buffer_bytes,
		.stored_bytes = chunk->header.stored_bytes,
	};
}

struct chunk *chunk_shrink(struct chunk *chunk)
{
	uint32_t bytes = chunk->header.offset_past_last_block;
	struct chunk *shrunk;

	assert(chunk->header.state == CHUNK_IN_USE && bytes > 0);
	shrunk = realloc(chunk, sizeof(*chunk) + bytes);
	if (!shrunk)
		return chunk;
	shrunk->header.buffer_bytes = bytes;
	shrunk->header.stored_bytes = bytes;
	return shrunk;
}
