/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_chunks.h - which rows are whose: chunks that are filled from the front, and compacted when
 * many of their rows have gone.
 *
 *   filled by tables ──some go──> sparse ──compaction──> empty ──a second later──> free
 *                                   '- the pages that are left are copied to the open chunk
 *
 * A chunk whose rows were read is written again only when all of them have gone, and a second
 * later: a reader in the kernel that looked up a page before it was moved still finds its rows. For
 * the same reason an entry of pages[] changes in one store.
 *
 * Tables leave one chunk empty, so that there is always one to compact into.
 */
#ifndef GECKOBPF_UNWIND_ROW_CHUNKS_H
#define GECKOBPF_UNWIND_ROW_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/table_store.h"

struct chunk_use {
	uint32_t filled; /* rows from 0 to here are taken */
	uint32_t live; /* of them, rows that tables use */
	uint64_t freed_ns; /* when the last of its rows went that has gone so far; 0: none has */
	bool is_victim; /* of the compaction at hand */
};

struct row_chunks {
	const struct unwind_memory *memory; /* borrowed */
	struct gb_chunk *pools[GB_MAX_POOLS];
	uint32_t pool_count;
	struct {
		struct chunk_use *items;
		size_t count, capacity;
	} uses; /* by chunk */
	uint32_t open; /* which chunk is filled; NO_CHUNK */
	uint64_t used_rows, used_chunks;
	/* Chunks from which so many rows have gone are compacted; 0: room is not wanted. */
	uint32_t min_holes;
};

void row_chunks_open(struct row_chunks *chunks, const struct unwind_memory *memory);
void row_chunks_close(struct row_chunks *chunks);

uint32_t *row_chunks_rows(const struct row_chunks *chunks, uint32_t chunk);

/* Makes one more pool. 0; -ENOSPC: there are as many as there may be; -errno. */
int row_chunks_add_pool(struct row_chunks *chunks);

/* Room for the `count` rows of a page, all in one chunk. 0; -ENOSPC; -errno. */
int row_chunks_take(struct row_chunks *chunks, uint32_t count, uint64_t now_ns,
		    struct gb_page *page);
void row_chunks_give(struct row_chunks *chunks, const struct gb_page *page, uint64_t now_ns);

/* How many rows tables could get now, but for what is lost at the ends of chunks. */
uint64_t row_chunks_free(const struct row_chunks *chunks, uint64_t now_ns);
/* How many all tables together could ever get, but for the same. */
uint64_t row_chunks_limit(const struct row_chunks *chunks);

/* Room is wanted, more than there is. */
void row_chunks_want(struct row_chunks *chunks);
/*
 * If room is wanted: moves the rows of sparse chunks together, those of pages[0 .. page_count), of
 * which at most COMPACT_CHUNKS chunks full. True: chunks became empty.
 */
bool row_chunks_compact(struct row_chunks *chunks, uint32_t page_count, uint64_t now_ns);

/* Writes an entry that the kernel may be reading. */
static inline void row_chunks_set_page(struct gb_page *entry, struct gb_page page)
{
	typedef uint64_t __attribute__((may_alias)) word;

	_Static_assert(sizeof(page) == sizeof(word), "an entry is written in one store");
	/* The rows are there before what points to them. Pairs with gb_find_rule(). */
	__atomic_store_n((word *)entry, *(word *)&page, __ATOMIC_RELEASE);
}

#endif
