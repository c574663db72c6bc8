/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_store.h - the chunks of all buffers, under one limit: whichever was finished first goes
 * first.
 *
 *             get                  release              room is needed,
 *   memory ────────> lent to owner ────────> released ── or the owner leaves ──> given up
 *      ^                                      │    ^                               │
 *      │                               borrow v    │ return: itself or its twin    │
 *      │                                 compressor                                │
 *      └───────────────── freed, or kept for reuse: at most two ───────────────────┘
 *
 *   released, oldest    [a] [b] [b] [a] [c] [a]    newest        the one queue of all owners: the
 *     owner a            └───────────┴───────┴── [current]       next to go is its first
 *     owner b                └───┴── [current] [next]
 *
 * One thread, the owners', gets and releases, so chunks come into the queue in the order of their
 * done times. When what is lent, what is released, what others use (chunk_store_set_extra()) and
 * the chunk that is asked for reach the limit together, the oldest released chunk goes, whosever it
 * is. Only what is lent cannot go, so the limit can be passed by the chunks that are being filled;
 * the more owners fill, the smaller the chunks, so that this stays within the limit while there are
 * chunks of a useful size. Sizes are stored bytes, without headers; up to two chunks that are kept
 * for reuse do not count.
 *
 * A second thread, the compressor's, borrows released chunks, the newest first: the oldest are the
 * next to go anyway. What is lent to an owner is that owner's alone; the queue and all else that
 * the two threads share are under one lock, which is taken a few times a chunk, never for a block.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_STORE_H
#define GECKOBPF_BUFFER_CHUNK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "buffer/chunk.h"

struct chunk_expander;
struct chunk_store;

#define CHUNK_MAX_BYTES (256U * 1024)

/*
 * One buffer, which fills chunks. The store writes it, the buffer reads it; zero-initialised before
 * it joins.
 */
struct chunk_owner {
	struct chunk_list released; /* oldest first; changes while the compressor works */
	uint64_t range_start; /* the position after the last chunk that went; 0: none has */
	uint64_t cleared; /* blocks that went with their chunks */
	uint64_t others_cleared; /* of these, those that are no samples */
	/* The store's alone. */
	struct chunk *next; /* lent before it is needed; NULL: not so */
	TAILQ_ENTRY(chunk_owner) requests;
	bool is_requested; /* `next` */
	uint32_t lent; /* chunks, `next` among them */
	uint32_t next_bytes; /* how large the chunk to make next is */
};

struct chunk_store_config {
	uint64_t max_bytes; /* the limit */
	uint32_t chunk_first_bytes; /* of each owner; 0: 4 to 64 KiB, as there is room */
	uint32_t chunk_max_bytes; /* however large the limit is; 0: CHUNK_MAX_BYTES */
	const struct chunk_expander *expander; /* borrowed; what reads the compressor's twins */
};

struct chunk_store_stats {
	uint64_t max_bytes;
	uint64_t unreleased_bytes, released_bytes; /* lent to owners, and not */
	uint64_t extra_bytes; /* as told by chunk_store_set_extra() */
	uint64_t made; /* chunks allocated */
	uint64_t recycled; /* chunks lent again */
	uint64_t destroyed; /* released chunks whose blocks were given up */
	uint64_t compressed; /* released chunks that were replaced by a compressed one */
	uint32_t chunk_max_bytes; /* at this moment */
	size_t owners;
	size_t live; /* owners to which a chunk is lent */
};

/* 0 or -ENOMEM. */
int chunk_store_open(struct chunk_store **out, const struct chunk_store_config *config);
/* All owners have left, and nothing is borrowed. NULL is fine. */
void chunk_store_close(struct chunk_store *store);

/* What reads the compressor's twins; NULL: nothing gets compressed. */
const struct chunk_expander *chunk_store_expander(const struct chunk_store *store);

/* Takes the owner in, which has no chunk yet. */
void chunk_store_join(struct chunk_store *store, struct chunk_owner *owner);
/* The owner's blocks go, and its chunks, `current` among them: the one in use, or NULL. */
void chunk_store_leave(struct chunk_store *store, struct chunk_owner *owner, struct chunk *current);

/*
 * Lends an empty chunk of at least `min_bytes` > 0: the one that was fetched for the owner's
 * request, if it is large enough, else one kept or made. The owner's first chunk is small, each
 * that is made next is double that, up to a maximum: a process that hardly runs costs little. 0 or
 * -ENOMEM.
 */
int chunk_store_get(struct chunk_store *store, struct chunk_owner *owner, uint32_t min_bytes,
		    struct chunk **out);

/* The owner will need a chunk soon: chunk_store_fulfil() fetches it, if no put needs it before. */
void chunk_store_request(struct chunk_store *store, struct chunk_owner *owner);
/* Takes the request back, and the chunk if it was fetched. */
void chunk_store_forgo(struct chunk_store *store, struct chunk_owner *owner);
/*
 * Fetches what was requested, so that puts need not: to be called when there is time, not within a
 * put.
 */
void chunk_store_fulfil(struct chunk_store *store);

/* chunk_shrink() of a lent chunk. */
struct chunk *chunk_store_shrink(struct chunk_store *store, struct chunk *chunk);
/* A lent chunk in use is done, at this moment; it stays readable until its room is needed. */
void chunk_store_release(struct chunk_store *store, struct chunk_owner *owner, struct chunk *chunk);

/* How much else counts against the limit: tables, caches. */
void chunk_store_set_extra(struct chunk_store *store, uint64_t bytes);

struct chunk_store_stats chunk_store_get_stats(struct chunk_store *store);

/*
 * Everything that was put after this time is still there, of every owner that has not left; 0: so
 * is all before it. Never falls.
 */
uint64_t chunk_store_complete_since_ns(const struct chunk_store *store);

/* ---- compression ------------------------------------------------------------------- */

/*
 * The compressor's: the newest released chunk that it has not had, to be read until it is returned.
 * NULL: chunk_store_stop() was called or, unless `waits`, there is none now.
 */
struct chunk *chunk_store_borrow(struct chunk_store *store, bool waits);
/*
 * The compressor's: `twin` is what was borrowed, compressed, and the store's from now on; NULL: it
 * could not be compressed, and stays as it is.
 */
void chunk_store_return(struct chunk_store *store, struct chunk *chunk, struct chunk *twin);

/* From now on nothing is lent to the compressor; a thread that waits for a chunk gets NULL. */
void chunk_store_stop(struct chunk_store *store);

/*
 * Waits until nothing is borrowed, and lends the compressor nothing until resume() was called as
 * often: released chunks do not change meanwhile and can be read.
 */
void chunk_store_pause(struct chunk_store *store);
void chunk_store_resume(struct chunk_store *store);

/*
 * As fork(2). The child has the chunks between two changes, nothing borrowed, and is paused for
 * ever: there is no compressor in it.
 */
pid_t chunk_store_fork(struct chunk_store *store);

#endif
