/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_manager.h - where all profile buffers get their chunks from, under one limit.
 *
 *              get                 release
 *   manager ────────> unreleased ─────────────> released, ──────> destroyed: kept
 *      ^                 │   ^      reclaim     by done time      for reuse or freed
 *      └─────────────────┘   └──────────────────────┘
 *           give_back
 *
 * When what is lent, what is released and the chunk asked for reach the limit together, the oldest
 * released chunk goes, whichever buffer wrote it; its owner is told first. The limit can be passed
 * only by buffers that do not release. Sizes count the chunks' bytes, not their headers nor the few
 * chunks kept for reuse.
 *
 * There are no requests for a chunk in advance: who fills a chunk is an ordinary thread and may
 * allocate, which it does once a chunk. A process that hardly runs thus holds one chunk, not two.
 * One thread at a time, no locks.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_MANAGER_H
#define GECKOBPF_BUFFER_CHUNK_MANAGER_H

#include <stdint.h>

struct chunk;
struct chunk_manager;
struct chunk_owner;

struct chunk_manager_stats {
	uint64_t unreleased_bytes; /* lent out */
	uint64_t released_bytes;
	uint64_t made; /* chunks allocated */
	uint64_t recycled; /* chunks lent again */
	uint64_t destroyed; /* released chunks whose contents were given up */
};

/* 0, -EINVAL: chunk_min_bytes is 0; -ENOMEM. */
int chunk_manager_open(struct chunk_manager **out, uint64_t max_total_bytes,
		       uint32_t chunk_min_bytes);
/*
 * Frees the released chunks, without telling their owners. No chunk is lent any more. NULL is fine.
 */
void chunk_manager_close(struct chunk_manager *manager);

uint64_t chunk_manager_max_bytes(const struct chunk_manager *manager);
/* No chunk is smaller than this. */
uint32_t chunk_manager_chunk_bytes(const struct chunk_manager *manager);

/* Lends an empty chunk, created or recycled. 0 or -ENOMEM. */
int chunk_manager_get(struct chunk_manager *manager, struct chunk **out);

/* Takes one chunk that is done; it stays readable until its room is needed. NULL is fine. */
void chunk_manager_release(struct chunk_manager *manager, struct chunk *chunk);

/* Takes a list of lent chunks, done or unused, whose contents nobody wants. NULL is fine. */
void chunk_manager_give_back(struct chunk_manager *manager, struct chunk *chunks);

/*
 * Lends the owner's released chunks to it again, oldest first; contents stay. NULL: there were
 * none.
 */
struct chunk *chunk_manager_reclaim(struct chunk_manager *manager, const struct chunk_owner *owner);

/* A list of lent chunks is the caller's now, for ever: no longer counted. NULL is fine. */
void chunk_manager_forget(struct chunk_manager *manager, const struct chunk *chunks);

/* Gives up released chunks that were done at `done_ns` or before. */
void chunk_manager_destroy_at_or_before(struct chunk_manager *manager, uint64_t done_ns);

/*
 * The oldest released chunk, the others follow it; NULL: none. Valid until the manager is next
 * used.
 */
const struct chunk *chunk_manager_peek(const struct chunk_manager *manager);

struct chunk_manager_stats chunk_manager_get_stats(const struct chunk_manager *manager);

#endif
