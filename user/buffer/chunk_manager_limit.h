/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_manager_limit.h - a chunk manager that makes chunks as they are needed and destroys the
 * oldest ones when a limit is reached.
 *
 * A manager's first chunk is small, each that it makes next is double that up to a maximum: who
 * hardly runs costs little. The limit is the manager's own, or, when it belongs to a domain with
 * others, one that its hooks look after (memory_controller.h), or both.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_MANAGER_LIMIT_H
#define GECKOBPF_BUFFER_CHUNK_MANAGER_LIMIT_H

#include <stdint.h>

#include "buffer/chunk_manager.h"

struct chunk_domain;
struct chunk_manager_limit;
struct chunk_update;

/* Blocks larger than this are refused, whatever the fill level. */
#define MAX_BLOCK_BYTES (64U * 1024)

/* Who follows a manager's memory. Called with the domain's lock held: must not call managers. */
struct chunk_listener {
	void (*on_update)(void *context, const struct chunk_update *update);
	void *context;
};

/* Both without the lock. */
struct chunk_manager_hooks {
	/* A chunk of `bytes` is going to be lent. */
	void (*make_room)(void *context, uint32_t bytes);
	/* A request is pending. */
	void (*requested)(void *context);
	void *context;
};

struct chunk_manager_limit_config {
	uint64_t max_total_bytes; /* UINT64_MAX: no limit of its own */
	uint32_t chunk_first_bytes; /* of a domain of its own; 0: as chunk_max_bytes */
	uint32_t chunk_max_bytes;
	struct chunk_domain *domain; /* borrowed, and the two above not looked at; or NULL */
	struct chunk_manager_hooks hooks; /* may be {0} */
	const struct chunk_expander *expander; /* borrowed; NULL: nothing gets compressed */
};

/*
 * 0; -EINVAL: chunks of no bytes; -ENOMEM. chunk_manager_close() closes it; what the compressor has
 * just then is freed when it comes back.
 */
int chunk_manager_limit_open(struct chunk_manager **out,
			     const struct chunk_manager_limit_config *config);

/*
 * At most one listener, borrowed; NULL: none. It is told the state now, and then after each get,
 * release, give_back, shrink, reclaim, take_released, forget and destruction, and when a chunk was
 * compressed; final when it is replaced or the manager closed. 0, or -ENOMEM with nothing changed.
 */
int chunk_manager_limit_listen(struct chunk_manager *manager,
			       const struct chunk_listener *listener);

/*
 * The compressed twin takes the place of a released chunk, which goes; with the domain's lock held.
 * Both are the manager's then.
 */
void chunk_manager_limit_replace(struct chunk_manager_limit *manager, struct chunk *chunk,
				 struct chunk *compressed);

#endif
