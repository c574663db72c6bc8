/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_domain.h - what managers that stand under one limit share: the lock, how large new chunks
 * are, the chunks kept for reuse, and the ones that wait to be compressed.
 *
 *   released chunk: WAITING ── borrow ──> LENT ── put back ──> NONE, itself or a compressed one
 *                      │                   │ destroyed meanwhile
 *                      └─ destroyed        └──> ORPHAN ── put back ──> freed
 *
 * Two threads: the one that uses the managers, and the one that borrows. The lock is taken once a
 * chunk, never for a block. Of the waiting chunks the newest is lent first: the oldest are the next
 * to be destroyed, and what was waiting longest may never need to be compressed; when there is time
 * for all, all have their turn.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_DOMAIN_H
#define GECKOBPF_BUFFER_CHUNK_DOMAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct chunk;

#define CHUNK_KEPT_MAX 2
#define CHUNK_WORTH_BYTES 1024 /* smaller ones are not compressed */

struct chunk_domain {
	pthread_mutex_t lock; /* of all that follows and of the managers' lists and counts */
	uint32_t chunk_first_bytes; /* size of a manager's first chunk; doubles up to: */
	uint32_t chunk_max_bytes;
	uint32_t kept_count;
	struct chunk *kept[CHUNK_KEPT_MAX]; /* recycled; the one kept longest first */
	uint64_t made, recycled, destroyed, compressed; /* sums of the managers' counts */
	struct chunk *newest_waiting;
	uint32_t lent; /* to the compressor */
	uint32_t paused; /* nothing is lent meanwhile */
	bool is_stopped; /* nothing is lent any more */
	pthread_cond_t work; /* there is something to lend, or no longer ever */
	pthread_cond_t came_back; /* a chunk did */
};

int chunk_domain_init(struct chunk_domain *domain, uint32_t chunk_first_bytes,
		      uint32_t chunk_max_bytes);
void chunk_domain_clear(struct chunk_domain *domain);

/* The following are called with the lock held. */

/* Chunks kept that are larger go. */
void chunk_domain_set_max(struct chunk_domain *domain, uint32_t chunk_max_bytes);

/* A kept chunk of at least `bytes` and less than double; NULL: none. */
struct chunk *chunk_domain_take_kept(struct chunk_domain *domain, uint32_t bytes);
/* An unlinked chunk, done or unused, that no manager has any more is kept or freed. */
void chunk_domain_discard(struct chunk_domain *domain, struct chunk *chunk);

/* A chunk was released: it waits from now on, if it is worth it. */
void chunk_domain_add_waiting(struct chunk_domain *domain, struct chunk *chunk);
/* It waits no longer. Whether that was all: false if it is lent, and has to come back first. */
bool chunk_domain_recall(struct chunk_domain *domain, struct chunk *chunk);
/* The newest that waits; NULL: none, or none is to be lent now. */
struct chunk *chunk_domain_lend(struct chunk_domain *domain);
/* A lent chunk came back: false if it was an orphan, which is freed. */
bool chunk_domain_came_back(struct chunk_domain *domain, struct chunk *chunk);

#endif
