/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory_controller.h - one limit for the chunks of all processes, whichever wrote them.
 *
 *   buffer ──> manager ─┐ updates (chunk_update.h), folded         ┌─> borrow ──> compressor
 *   buffer ──> manager ─┼─────────> memory controller <── limit    │                 │
 *   buffer ──> manager <┘ destroy_at_or_before(t)    └─ released ──┴───── return <───┘
 *
 * When what is lent, what is released, what others said they use and the chunk asked for reach the
 * limit together, the oldest released chunk of any process goes. Whose that is is found in a heap
 * of managers, ordered by the oldest chunk of each. Only what is lent cannot go, so the limit can
 * be passed by as many started chunks as there are processes; the more there are, the smaller the
 * chunks, so that this stays within the limit while there are chunks of a useful size.
 *
 * Everything is for the thread that uses the managers, but for what is said to be the compressor's.
 */
#ifndef GECKOBPF_BUFFER_MEMORY_CONTROLLER_H
#define GECKOBPF_BUFFER_MEMORY_CONTROLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct chunk;
struct chunk_expander;
struct chunk_manager;
struct memory_controller;

#define CHUNK_MAX_BYTES (256U * 1024)

struct memory_controller_config {
	uint64_t max_bytes;
	uint32_t chunk_first_bytes; /* of each process; 0: 4 to 64 KiB, as there is room */
	uint32_t
		chunk_max_bytes; /* no chunk is larger, however large the limit; 0: CHUNK_MAX_BYTES */
	const struct chunk_expander *expander; /* borrowed; what reads the compressor's work */
};

struct memory_stats {
	uint64_t max_bytes;
	uint64_t unreleased_bytes, released_bytes; /* of all managers */
	uint64_t extra_bytes; /* as told by memory_controller_set_extra() */
	uint64_t made, recycled, destroyed, compressed; /* chunks: chunk_manager.h */
	uint32_t chunk_max_bytes; /* at this moment */
	size_t managers;
	size_t live; /* managers of which a chunk is lent */
};

/* 0 or -ENOMEM. */
int memory_controller_open(struct memory_controller **out,
			   const struct memory_controller_config *config);
/* All its managers are closed, and nothing is borrowed. NULL is fine. */
void memory_controller_close(struct memory_controller *controller);

/* A manager for one process; chunk_manager_close() closes it. 0 or -ENOMEM. */
int memory_controller_manager(struct memory_controller *controller, struct chunk_manager **out);

/*
 * Serves the pending requests of all managers, so that puts need not: to be called when there is
 * time, not within a put.
 */
void memory_controller_fulfil(struct memory_controller *controller);

/* What else counts against the limit: tables, caches. */
void memory_controller_set_extra(struct memory_controller *controller, uint64_t bytes);

struct memory_stats memory_controller_get_stats(struct memory_controller *controller);

/*
 * Everything that was put after this time is still there, of every process; 0: so is all before it. Never falls.
 */
uint64_t memory_controller_complete_since_ns(const struct memory_controller *controller);

/* ---- compression ------------------------------------------------------------------- */

/*
 * The compressor's: a released chunk that is to be compressed, readable until it is returned, and
 * the token to return it with. NULL: there is none now.
 */
const struct chunk *memory_controller_borrow(struct memory_controller *controller, void **token);

/* The same, but waits for one; NULL: memory_controller_stop() was called. */
const struct chunk *memory_controller_wait_work(struct memory_controller *controller, void **token);

/*
 * The compressor's: `replacement` is the compressed twin of what was borrowed, and the controller's
 * from now on; NULL: it could not be compressed, and stays as it is.
 */
void memory_controller_return(struct memory_controller *controller, void *token,
			      struct chunk *replacement);

/* From now on nothing is lent to the compressor; who waits gets NULL. */
void memory_controller_stop(struct memory_controller *controller);

/*
 * Waits until nothing is borrowed, and lends nothing until resume() was called as often: chunks do
 * not change meanwhile and buffers can be read.
 */
void memory_controller_pause(struct memory_controller *controller);
void memory_controller_resume(struct memory_controller *controller);

/*
 * As fork(2). The child has the buffers between two changes, nothing borrowed, and is paused for ever: there is no
 * compressor in it.
 */
pid_t memory_controller_fork(struct memory_controller *controller);

#endif
