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
 *   created ──┐
 *             ├── reserve_initial_tail ──> in use ── reserve_block ──> full (no room left)
 *   recycled ─┘                               └───── mark_done ────> done <────┘
 *      └───────────────────────── mark_recycled ──────────────────────┘
 *
 * Any other transition is a programmer's error and asserted. Byte positions ("indexes") count from
 * 1 over the life of a buffer; the bytes of a chunk are [range_start, range_start + buffer_bytes).
 *
 * A compressed chunk has the header of the done chunk that it stands for, so its positions and
 * counts are the same, but other bytes: stored_bytes of them. Memory is counted in stored_bytes.
 * A chunk is one thread's at a time, no locks.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_H
#define GECKOBPF_BUFFER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum chunk_state {
	CHUNK_CREATED,
	CHUNK_IN_USE,
	CHUNK_FULL,
	CHUNK_DONE,
	CHUNK_RECYCLED,
};

#define CHUNK_COMPRESSED 1U /* flags: the bytes are not the blocks themselves */

/* No holes: it could be written out as it is. */
struct chunk_header {
	uint32_t offset_first_block; /* of the first block that begins here */
	uint32_t offset_past_last_block;
	uint64_t start_ns; /* when the initial tail was reserved */
	uint64_t done_ns; /* when it was marked done */
	uint32_t buffer_bytes; /* fixed at creation, but for chunk_shrink() */
	uint32_t stored_bytes; /* after the struct; buffer_bytes if not compressed */
	uint64_t range_start; /* index of byte 0; 0: not set */
	uint32_t block_count; /* blocks that begin here */
	uint32_t process_id;
	uint32_t state; /* enum chunk_state */
	uint32_t flags; /* CHUNK_COMPRESSED */
};

struct chunk;
struct chunk_manager_limit;

/* A released chunk's way to the compressor and back: chunk_domain.h. */
enum chunk_loan_state {
	CHUNK_LOAN_NONE,
	CHUNK_LOAN_WAITING, /* to be compressed; linked to others that wait */
	CHUNK_LOAN_LENT, /* being compressed */
	CHUNK_LOAN_ORPHAN, /* being compressed, and nobody's any more */
};

struct chunk_loan {
	struct chunk_manager_limit *keeper; /* has it among its released chunks; NULL: nobody */
	struct chunk *before; /* among those; NULL: it is the oldest */
	struct chunk *newer, *older;
	enum chunk_loan_state state;
};

struct chunk {
	struct chunk_header header;
	struct chunk *next; /* in whatever list it is */
	struct chunk_loan loan;
	uint8_t bytes[];
};

/* Room in a chunk. */
struct chunk_span {
	uint8_t *bytes;
	uint32_t size;
};

/* A chunk of `min_bytes` (0 counts as 1), unlinked; NULL: no memory. */
struct chunk *chunk_create(uint32_t min_bytes);
/* Frees one chunk that is created, done or recycled and in no list. NULL is fine. */
void chunk_destroy(struct chunk *chunk);

/*
 * Starts the use of a created or recycled chunk: `size` bytes, which fit and may be 0, are for a
 * block begun before.
 */
struct chunk_span chunk_reserve_initial_tail(struct chunk *chunk, uint32_t size);

/*
 * Room for a block of `size` > 0 bytes: all of it or all that is left, which fills the chunk.
 * range_start is set.
 */
struct chunk_span chunk_reserve_block(struct chunk *chunk, uint32_t size, uint64_t *index);

/* Ends the use; the bytes stay readable. */
void chunk_mark_done(struct chunk *chunk);
/* Forgets everything but the size, so that the chunk can be used again. Not a compressed one. */
void chunk_mark_recycled(struct chunk *chunk);

/*
 * Cuts a done chunk that is in no list down to what is used, so that it ends where its last block
 * does. Returns where it is now.
 */
struct chunk *chunk_shrink(struct chunk *chunk);

static inline bool chunk_is_compressed(const struct chunk *chunk)
{
	return chunk->header.flags & CHUNK_COMPRESSED;
}

uint32_t chunk_remaining(const struct chunk *chunk);
/* The index after its last byte: where the next chunk begins. */
uint64_t chunk_range_end(const struct chunk *chunk);

/* Lists: a chunk stands for itself and all that follow. */
struct chunk *chunk_last(struct chunk *chunk);
/* Puts the list `inserted` between `chunk` and what followed it. NULL is fine. */
void chunk_insert_next(struct chunk *chunk, struct chunk *inserted);
/* Appends the list `appended` to the end of the list `chunk`. NULL is fine. */
void chunk_set_last(struct chunk *chunk, struct chunk *appended);
/* One list of both, each of which may be NULL. */
struct chunk *chunk_join(struct chunk *first, struct chunk *second);
/* Cuts off and returns what follows `chunk`. */
struct chunk *chunk_release_next(struct chunk *chunk);
/* Destroys all of a list. NULL is fine. */
void chunk_destroy_list(struct chunk *chunks);

#endif
