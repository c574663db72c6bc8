/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk.h - a piece of the profile buffer: one allocation of header, links and bytes.
 *
 *   struct chunk | tail of a block | block | ... | block | head of a block, or room |
 *                |                 |                     |                          '- buffer_bytes
 *                |                 |                     '- offset_past_last_block, if room
 *                '- 0              '- offset_first_block
 *
 * A block may begin in one chunk and end in the next. It counts in the chunk in which it begins.
 *
 *   empty ── chunk_begin ──> in use ── chunk_mark_done ──> done
 *     ^                        │                            │
 *     └──── chunk_recycle ─────┴────────────────────────────┘
 *
 * Any other transition is a programmer's error and asserted. Byte positions count from 1 over the
 * life of a buffer; the bytes of a chunk are [range_start, range_start + buffer_bytes).
 *
 * A compressed chunk has the header of the done chunk that it stands for, so its positions and
 * counts are the same, but other bytes: stored_bytes of them. Memory is counted in stored_bytes.
 * A chunk is one thread's at a time, no locks. Its links are the store's (chunk_store.h).
 */
#ifndef GECKOBPF_BUFFER_CHUNK_H
#define GECKOBPF_BUFFER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum chunk_state {
	CHUNK_EMPTY,
	CHUNK_IN_USE,
	CHUNK_DONE,
};

#define CHUNK_COMPRESSED 1U /* flags: the bytes are not the blocks themselves */

/* No holes: it could be written out as it is. */
struct chunk_header {
	uint32_t offset_first_block; /* of the first block that begins here */
	uint32_t offset_past_last_block;
	uint64_t start_ns; /* when its use began */
	uint64_t done_ns; /* when it was marked done */
	uint32_t buffer_bytes; /* fixed at creation, but for chunk_shrink() */
	uint32_t stored_bytes; /* after the struct; buffer_bytes if not compressed */
	uint64_t range_start; /* position of byte 0; 0: not set */
	uint32_t block_count; /* blocks that begin here */
	uint32_t other_count; /* of these, those that are no samples */
	uint32_t process_id;
	uint16_t state; /* enum chunk_state */
	uint16_t flags; /* CHUNK_COMPRESSED */
};

struct chunk_owner;

/* What the compressor has to do with a chunk. */
enum chunk_loan {
	CHUNK_LOAN_NONE,
	CHUNK_LOAN_WAITING, /* to be compressed */
	CHUNK_LOAN_LENT, /* being compressed */
};

TAILQ_HEAD(chunk_list, chunk);

struct chunk {
	struct chunk_header header;
	struct chunk_owner *owner; /* has it among its released chunks; NULL: none does */
	TAILQ_ENTRY(chunk) owned; /* the owner's released chunks */
	TAILQ_ENTRY(chunk) released; /* those of all owners */
	TAILQ_ENTRY(chunk) waiting; /* those that wait for the compressor */
	enum chunk_loan loan;
	uint8_t bytes[];
};

/* Room in a chunk. */
struct chunk_span {
	uint8_t *bytes;
	uint32_t size;
};

/* An empty chunk of `bytes` > 0, unlinked; NULL: no memory. */
struct chunk *chunk_create(uint32_t bytes);
/* Frees a chunk that is not in use and in no list. NULL is fine. */
void chunk_destroy(struct chunk *chunk);

/*
 * Starts the use of an empty chunk, whose bytes have the positions from `range_start` > 0 on. The
 * first `tail_bytes`, which fit and may be 0, are for a block begun before.
 */
struct chunk_span chunk_begin(struct chunk *chunk, uint64_t range_start, uint32_t tail_bytes);

/* Room for a block of `size` > 0 bytes: all of it or all that is left, which is not nothing. */
struct chunk_span chunk_reserve_block(struct chunk *chunk, uint32_t size);

/* Ends the use; the bytes stay readable. */
void chunk_mark_done(struct chunk *chunk);
/* Forgets everything but the size, so that the chunk can be used again. Not a compressed one. */
void chunk_recycle(struct chunk *chunk);

/*
 * Cuts a chunk in use that is in no list down to what is used, which is not nothing, so that it
 * ends where its last block does. Returns where it is now; without memory it stays as it is.
 */
struct chunk *chunk_shrink(struct chunk *chunk);

static inline bool chunk_is_compressed(const struct chunk *chunk)
{
	return chunk->header.flags & CHUNK_COMPRESSED;
}

static inline uint32_t chunk_remaining(const struct chunk *chunk)
{
	return chunk->header.buffer_bytes - chunk->header.offset_past_last_block;
}

/* The position after its last byte: where the next chunk begins. */
static inline uint64_t chunk_range_end(const struct chunk *chunk)
{
	return chunk->header.range_start + chunk->header.buffer_bytes;
}

#endif
