/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_walk.h - reads the blocks of a list of chunks, oldest first (chunked_buffer.h says what
 * blocks are).
 *
 * A block may begin in one chunk and end in the next; the tail of a block whose head is gone is
 * skipped, and so is the hole in a chunk that ended early. A compressed chunk is expanded when its
 * first byte is needed, into one of two pieces of scratch memory by turns, since a block may need
 * two chunks at a time. One that cannot be expanded is counted and left out, with the block that
 * ends in it; the walk goes on at the first block that begins after it.
 *
 * Everything else that makes no sense ends the walk: a size of 0, missing bytes, a chunk that does
 * not begin where the one before ends.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_WALK_H
#define GECKOBPF_BUFFER_CHUNK_WALK_H

#include <stddef.h>
#include <stdint.h>

struct chunk;
struct chunk_expander;

/* A block to read; valid until the walk goes on or ends, or a chunk is changed. */
struct block_view {
	uint64_t index;
	uint64_t next_index; /* of the block after it; 0: it is the last */
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

/* All private, but for `unreadable`. */
struct chunk_walk {
	const struct chunk *chunk; /* NULL: past the end */
	const struct chunk *current;
	const uint8_t *data; /* of `chunk`; NULL: not expanded yet */
	uint32_t offset, limit; /* where this chunk's part of what is being read must end */
	const struct chunk_expander *expander;
	struct chunk_scratch scratch[2];
	unsigned int turn;
	size_t unreadable; /* chunks that could not be expanded */
};

/*
 * Before the first block of the list `chunks`, which `current` follows; each may be NULL, as may
 * the expander if nothing is compressed. All are borrowed and do not change until the end.
 */
void chunk_walk_begin(struct chunk_walk *walk, const struct chunk *chunks,
		      const struct chunk *current, const struct chunk_expander *expander);
void chunk_walk_end(struct chunk_walk *walk);

/* Skips chunks that end at or before `index`, without reading them. */
void chunk_walk_skip(struct chunk_walk *walk, uint64_t index);

/* The next block. 0; -ENOENT: there is none; -ENOMEM. */
int chunk_walk_next(struct chunk_walk *walk, struct block_view *block);

#endif
