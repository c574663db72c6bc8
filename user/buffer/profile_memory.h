/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile_memory.h - the memory that all profile buffers of a recording share: one limit, one entry
 * cache, one thread that compresses what is finished.
 *
 *   profile buffers ──> chunk store <── compressor
 *          └──────────> entry cache
 *
 * One thread uses it, with the buffers. Readers see the same whether a chunk is compressed or not,
 * but the compressor must not exchange chunks under them: pause it.
 */
#ifndef GECKOBPF_BUFFER_PROFILE_MEMORY_H
#define GECKOBPF_BUFFER_PROFILE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buffer/chunk_store.h"
#include "buffer/compressor.h"

struct chunk_expander;
struct entry_cache;
struct profile_memory;

struct profile_memory_config {
	uint64_t max_bytes; /* of chunks, compressed where they are, and of what is set as extra */
	bool compresses; /* start the thread */
	/* For tests; else 0. */
	size_t cache_bytes; /* of the entry cache; 0: an eighth of the limit, at most 8 MiB */
	uint32_t chunk_first_bytes, chunk_max_bytes; /* as in struct chunk_store_config */
	const struct chunk_expander *expander; /* NULL: for what the thread compresses */
};

struct profile_memory_stats {
	struct chunk_store_stats chunks;
	struct compressor_counts compression; /* all 0 without the thread */
};

/* 0, -ENOMEM, -EAGAIN: no more threads. */
int profile_memory_open(struct profile_memory **out, const struct profile_memory_config *config);
/* All buffers are closed. NULL is fine. */
void profile_memory_close(struct profile_memory *memory);

/*
 * Fetches the chunks that buffers will need soon, so that puts need not: to be called when there is
 * time.
 */
void profile_memory_fulfil(struct profile_memory *memory);

/* How much else counts against the limit: tables, caches. */
void profile_memory_set_extra(struct profile_memory *memory, uint64_t bytes);

struct profile_memory_stats profile_memory_get_stats(const struct profile_memory *memory);

/*
 * CLOCK_MONOTONIC: everything that was put after this time is still there, of every buffer that is
 * not closed; 0: so is all before it. Never falls.
 */
uint64_t profile_memory_complete_since_ns(const struct profile_memory *memory);

/* To be called around reading: the compressor exchanges no chunk meanwhile. May be nested. */
void profile_memory_pause(struct profile_memory *memory);
void profile_memory_resume(struct profile_memory *memory);

/*
 * As fork(2); no other way leaves the child with buffers that it can read. The child may read them
 * for ever, and do nothing else with them.
 */
pid_t profile_memory_fork(struct profile_memory *memory);

/* Its parts, for profile_buffer.c. */
struct chunk_store *profile_memory_store(const struct profile_memory *memory);
struct entry_cache *profile_memory_cache(const struct profile_memory *memory);

#endif
