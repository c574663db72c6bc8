/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_update.h - what a chunk manager tells of its memory, one step at a time, and the sum of
 * such steps.
 *
 *   none ── fold ──> state ── fold ──> state ── fold ──> final
 *
 * A state says what the totals are now, when the oldest released chunk was done, and which chunks
 * were released since the update before. Folding updates in the order in which they were sent gives
 * one update that says the same: the totals of the last, and all released chunks that are still
 * there. Final says that the manager is gone; nothing follows it.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_UPDATE_H
#define GECKOBPF_BUFFER_CHUNK_UPDATE_H

#include <stddef.h>
#include <stdint.h>

struct chunk;

enum chunk_update_kind {
	CHUNK_UPDATE_NONE, /* zero-initialised: not an update */
	CHUNK_UPDATE_STATE,
	CHUNK_UPDATE_FINAL,
};

struct released_chunk {
	uint64_t done_ns;
	uint64_t bytes;
};

struct chunk_update {
	enum chunk_update_kind kind;
	uint64_t unreleased_bytes; /* lent out */
	uint64_t released_bytes;
	uint64_t oldest_done_ns; /* of the released chunks; 0: there are none */
	struct released_chunk *items; /* newly released, in the order of release */
	size_t count;
	size_t capacity; /* 0: items are borrowed */
};

/* Makes room for `count` released chunks to be folded in. 0 or -ENOMEM. */
int chunk_update_reserve(struct chunk_update *update, size_t count);

/*
 * The state of a manager whose released chunks are the list `released`, of which the list
 * `newly` were released since. 0 or -ENOMEM; cleared by the caller.
 */
int chunk_update_from_chunks(struct chunk_update *out, uint64_t unreleased_bytes,
			     uint64_t released_bytes, const struct chunk *released,
			     const struct chunk *newly);

/* 0 or -ENOMEM; cleared by the caller. */
int chunk_update_copy(struct chunk_update *out, const struct chunk_update *from);

/*
 * Folds the next update into `sum`. Never fails: where there is no memory for one more released
 * chunk, it is added to the one before it, as if both had been done at the later time.
 */
void chunk_update_fold(struct chunk_update *sum, const struct chunk_update *next);

/* Frees what the update owns; it is none then. */
void chunk_update_clear(struct chunk_update *update);

#endif
