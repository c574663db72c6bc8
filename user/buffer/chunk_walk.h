/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_walk.h - reads the blocks of a buffer's chunks, oldest first (chunked_buffer.h says what blocks
 * are).
 *
 * A block may begin in one chunk and end in the next; the tail of a block whose head is gone is
 * skipped, and so is the hole in a chunk that ended early. A compressed chunk is expanded when its
 * first byte is needed, into one of two pieces of scratch memory by turns, since a block may need
 * two chunks at a time.
 *
 * What makes no sense costs no more than it must: a chunk that cannot be expanded, with the block
 * that ends in it; from a size of 0, or bytes that are missing, what is left of that chunk. The walk
 * goes on at the first block that begins after it, and counts the blocks that it did not find,
 * for a chunk says how many begin in it. A chunk without a position ends the walk.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_WALK_H
#define GECKOBPF_BUFFER_CHUNK_WALK_H

#include <stddef.h>
#include <stdint.h>

struct chunk;
struct chunk_list;

/* Writes the first offset_past_last_block bytes that a compressed chunk stands for. */
struct chunk_expander {
	int (*expand)(void *context, const struct chunk *compressed, uint8_t *out);
	void *context;
};

/* A block to read; valid until the walk goes on or ends, or a chunk is changed. */
struct block_view {
	uint64_t index; /* the position of its first byte */
	uint64_t lost; /* blocks that should have come before it, as the walk counts them */
	const uint8_t *head, *tail; /* the payload: head, then tail, which is mostly empty */
	size_t head_bytes, tail_bytes;
};

/*
 * The payload in one piece: in place, or copied to `copy`, which has room for head_bytes +
 * tail_bytes.
 */
const uint8_t *block_view_bytes(const struct block_view *block, uint8_t *copy);

struct chunk_scratch {
	uint8_t *bytes;
	size_t capacity;
};

/* All private, but for `lost`. */
struct chunk_walk {
	const struct chunk *chunk; /* NULL: past the end */
	const struct chunk *current;
	const uint8_t *data; /* of `chunk`; NULL: not expanded yet */
	uint32_t offset, limit; /* where this chunk's part of what is being read must end */
	uint32_t given; /* blocks that begin in this chunk, so far */
	const struct chunk_expander *expander;
	struct chunk_scratch scratch[2];
	unsigned int turn;
	uint64_t lost; /* blocks that could not be read */
};

/*
 * Before the first block of the `released` chunks of an owner (chunk_store.h), which `current`
 * follows, or none if it is NULL. Without an expander, compressed chunks cannot be read. All are
 * borrowed and do not change until the end.
 */
void chunk_walk_begin(struct chunk_walk *walk, const struct chunk_list *released,
		      const struct chunk *current, const struct chunk_expander *expander);
void chunk_walk_end(struct chunk_walk *walk);

/* The next block that can be read. 0; -ENOENT: there is none; -ENOMEM. */
int chunk_walk_next(struct chunk_walk *walk, struct block_view *block);

/* The first block at or after position `index`; the walk has just begun. As chunk_walk_next(). */
int chunk_walk_seek(struct chunk_walk *walk, uint64_t index, struct block_view *block);

#endif
