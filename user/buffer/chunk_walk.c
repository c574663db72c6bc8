/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_walk.c - from block to block, over chunks. */
#include "buffer/chunk_walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/leb128.h"
#include "buffer/chunk.h"

const uint8_t *block_view_bytes(const struct block_view *block, uint8_t *copy)
{
	if (!block->tail_bytes)
		return block->head;
	memcpy(copy, block->head, block->head_bytes);
	memcpy(copy + block->head_bytes, block->tail, block->tail_bytes);
	return copy;
}

/* ---- from chunk to chunk --------------------------------------------------------- */

static const struct chunk *chunk_after(const struct chunk_walk *walk)
{
	const struct chunk *after;

	if (walk->chunk == walk->current)
		return NULL;
	after = TAILQ_NEXT(walk->chunk, owned);
	return after ? after : walk->current;
}

static void enter(struct chunk_walk *walk, const struct chunk *chunk)
{
	walk->chunk = chunk && chunk->header.range_start ? chunk : NULL;
	walk->data = NULL;
	walk->given = 0;
	if (!walk->chunk)
		return;
	walk->offset = chunk->header.offset_first_block;
	walk->limit = chunk->header.offset_past_last_block;
}

static void count_lost(struct chunk_walk *walk)
{
	uint32_t block_count = walk->chunk->header.block_count;

	if (block_count > walk->given)
		walk->lost += block_count - walk->given;
}

static void leave(struct chunk_walk *walk)
{
	count_lost(walk);
	enter(walk, chunk_after(walk));
}

/* From the end of a chunk's blocks, full or not, to the first block of a later chunk. */
static void settle(struct chunk_walk *walk)
{
	while (walk->chunk && walk->offset >= walk->limit)
		leave(walk);
}

/* Makes the bytes of the chunk readable. 0; -EBADMSG: they cannot be expanded; -ENOMEM. */
static int load(struct chunk_walk *walk)
{
	const struct chunk *chunk = walk->chunk;
	struct chunk_scratch *scratch;
	int err;

	if (walk->data)
		return 0;
	if (!chunk_is_compressed(chunk)) {
		walk->data = chunk->bytes;
		return 0;
	}
	if (!walk->expander)
		return -EBADMSG;
	walk->turn ^= 1;
	scratch = &walk->scratch[walk->turn];
	err = array_reserve((void **)&scratch->bytes, &scratch->capacity,
			    chunk->header.buffer_bytes, 1);
	if (err)
		return err;
	if (walk->expander->expand(walk->expander->context, chunk, scratch->bytes))
		return -EBADMSG;
	walk->data = scratch->bytes;
	return 0;
}

/*
 * Within a block, which counts in this chunk: from the end of it, which is full, into the initial
 * tail of the next. As load(), or -ENODATA: there is none.
 */
static int cross(struct chunk_walk *walk)
{
	const struct chunk *next;

	if (walk->offset != walk->chunk->header.buffer_bytes)
		return -ENODATA;
	next = chunk_after(walk);
	if (!next || next->header.range_start != chunk_range_end(walk->chunk))
		return -ENODATA;
	walk->given++;
	count_lost(walk);
	walk->chunk = next;
	walk->data = NULL;
	walk->given = 0;
	walk->offset = 0;
	walk->limit = next->header.offset_first_block;
	return load(walk);
}

/* ---- from block to block --------------------------------------------------------- */

static int read_size(struct chunk_walk *walk, uint64_t *size)
{
	struct leb128_reader reader = {0};

	while (!reader.is_complete) {
		int err = walk->offset == walk->limit ? cross(walk) : 0;

		if (err)
			return err;
		if (walk->offset >= walk->limit)
			return -ENODATA;
		if (!leb128_feed(&reader, walk->data[walk->offset++]))
			return -ENODATA;
	}
	*size = reader.value;
	return reader.value ? 0 : -ENODATA;
}

static const uint8_t *take(struct chunk_walk *walk, size_t size)
{
	const uint8_t *bytes = walk->data + walk->offset;

	walk->offset += (uint32_t)size;
	return bytes;
}

/* The payload: all here, or as much as there is and the rest in the next chunk. */
static int read_payload(struct chunk_walk *walk, uint64_t size, struct block_view *block)
{
	size_t here;
	int err = walk->offset == walk->limit ? cross(walk) : 0;

	if (err)
		return err;
	here = walk->limit - walk->offset;
	block->head_bytes = size < here ? size : here;
	block->head = take(walk, block->head_bytes);
	block->tail_bytes = size - block->head_bytes;
	block->tail = NULL;
	if (!block->tail_bytes)
		return 0;
	err = cross(walk);
	if (err)
		return err;
	if (block->tail_bytes > walk->limit)
		return -ENODATA;
	block->tail = take(walk, block->tail_bytes);
	return 0;
}

static int read_block(struct chunk_walk *walk, struct block_view *block)
{
	const struct chunk *first = walk->chunk;
	uint64_t size;
	int err = read_size(walk, &size);

	if (!err)
		err = read_payload(walk, size, block);
	if (err || walk->chunk == first)
		return err;
	/* The initial tail belongs to this block alone. */
	if (walk->offset != walk->limit)
		return -ENODATA;
	walk->limit = walk->chunk->header.offset_past_last_block;
	return 0;
}

/* Nearly every block: a prefix of one byte, all in one chunk. */
static bool read_short(struct chunk_walk *walk, struct block_view *block)
{
	uint32_t offset = walk->offset;
	size_t size = walk->data[offset];

	if (size - 1 >= 0x7f || size >= walk->limit - offset)
		return false;
	block->head = walk->data + offset + 1;
	block->head_bytes = size;
	block->tail = NULL;
	block->tail_bytes = 0;
	walk->offset = offset + 1 + (uint32_t)size;
	return true;
}

static int read_next(struct chunk_walk *walk, struct block_view *block)
{
	const struct chunk *first = walk->chunk;
	int err = load(walk);

	if (err)
		return err;
	block->index = first->header.range_start + walk->offset;
	block->lost = walk->lost;
	if (!read_short(walk, block))
		err = read_block(walk, block);
	if (err)
		return err;
	walk->given += walk->chunk == first;
	return 0;
}

/* From damage, met in a block that begins in `first`, to the next block that may be whole. */
static void skip_damage(struct chunk_walk *walk, const struct chunk *first)
{
	if (walk->chunk == first) {
		leave(walk);
		return;
	}
	/* It was counted as given when it crossed. What begins in the chunk that it ends in may be fine. */
	walk->lost++;
	enter(walk, walk->chunk);
}

int chunk_walk_next(struct chunk_walk *walk, struct block_view *block)
{
	settle(walk);
	while (walk->chunk) {
		const struct chunk *first = walk->chunk;
		int err = read_next(walk, block);

		if (!err || err == -ENOMEM)
			return err;
		skip_damage(walk, first);
		settle(walk);
	}
	return -ENOENT;
}

/* Chunks that end before it need not be expanded. */
static void skip_chunks(struct chunk_walk *walk, uint64_t index)
{
	while (walk->chunk && walk->chunk != walk->current && chunk_range_end(walk->chunk) <= index)
		enter(walk, chunk_after(walk));
}

int chunk_walk_seek(struct chunk_walk *walk, uint64_t index, struct block_view *block)
{
	int err;

	skip_chunks(walk, index);
	do
		err = chunk_walk_next(walk, block);
	while (!err && block->index < index);
	return err;
}

void chunk_walk_begin(struct chunk_walk *walk, const struct chunk_list *released,
		      const struct chunk *current, const struct chunk_expander *expander)
{
	const struct chunk *first = TAILQ_FIRST(released);

	*walk = (struct chunk_walk){.current = current, .expander = expander};
	enter(walk, first ? first : current);
}

void chunk_walk_end(struct chunk_walk *walk)
{
	free(walk->scratch[0].bytes);
	free(walk->scratch[1].bytes);
	*walk = (struct chunk_walk){.lost = walk->lost};
}
