/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_manager.h - where a chunked buffer gets its chunks from and leaves the full ones.
 *
 *           get, fulfil              release
 *   manager ────────────> unreleased ───────> released, by done time ──────> destroyed: kept
 *      ^                   │      ^  reclaim   │         │                   for reuse or freed
 *      └── give_back ──────┘      └────────────┘         └ take_released ──> the caller's
 *
 * chunk_manager_limit.h makes and destroys them. A manager serves one buffer. Sizes are stored bytes
 * without headers; chunks kept for reuse do not count. One thread uses a manager; what
 * it shares with a compressor is locked inside (chunk_domain.h).
 */
#ifndef GECKOBPF_BUFFER_CHUNK_MANAGER_H
#define GECKOBPF_BUFFER_CHUNK_MANAGER_H

#include <stdint.h>

struct chunk;
struct chunk_manager;

/* Who waits for a chunk; called with NULL if there is none. */
struct chunk_receiver {
	void (*on_chunk)(void *context, struct chunk *chunk);
	void *context;
};

/* Told before a released chunk's contents go for good; must not call the manager. */
struct chunk_witness {
	void (*on_destroy)(void *context, const struct chunk *chunk);
	void *context;
};

/* Writes the first offset_past_last_block bytes that a compressed chunk stands for. */
struct chunk_expander {
	int (*expand)(void *context, const struct chunk *compressed, uint8_t *out);
	void *context;
};

struct chunk_manager_stats {
	uint64_t unreleased_bytes; /* lent out */
	uint64_t released_bytes;
	uint64_t made; /* chunks allocated */
	uint64_t recycled; /* chunks lent again */
	uint64_t destroyed; /* released chunks whose contents were given up */
	uint64_t compressed; /* released chunks that were replaced by a compressed one */
};

struct chunk_manager_ops {
	void (*close)(struct chunk_manager *manager);
	int (*get)(struct chunk_manager *manager, uint32_t min_bytes, struct chunk **out);
	void (*request)(struct chunk_manager *manager, const struct chunk_receiver *receiver);
	void (*fulfil)(struct chunk_manager *manager);
	void (*release)(struct chunk_manager *manager, struct chunk *chunk);
	struct chunk *(*shrink)(struct chunk_manager *manager, struct chunk *chunk);
	void (*give_back)(struct chunk_manager *manager, struct chunk *chunks);
	struct chunk *(*reclaim)(struct chunk_manager *manager);
	struct chunk *(*take_released)(struct chunk_manager *manager);
	void (*forget)(struct chunk_manager *manager);
	const struct chunk *(*peek)(const struct chunk_manager *manager);
	void (*destroy_at_or_before)(struct chunk_manager *manager, uint64_t done_ns);
	struct chunk_manager_stats (*get_stats)(const struct chunk_manager *manager);
};

/* What every kind begins with. */
struct chunk_manager {
	const struct chunk_manager_ops *ops;
	uint64_t max_bytes; /* the limit; UINT64_MAX: none of its own */
	uint32_t max_block_bytes; /* no larger block fits, whatever the fill level */
	struct chunk_witness witness;
	const struct chunk_expander *expander; /* borrowed; NULL: nothing is compressed */
};

/* No chunk is lent any more. The released ones go, nobody is told. NULL is fine. */
static inline void chunk_manager_close(struct chunk_manager *manager)
{
	if (manager)
		manager->ops->close(manager);
}

/* At most one; {0}: nobody. */
static inline void chunk_manager_set_witness(struct chunk_manager *manager,
					     struct chunk_witness witness)
{
	manager->witness = witness;
}

/*
 * Lends an empty, unlinked chunk of at least `min_bytes`. 0 or -ENOMEM.
 */
static inline int chunk_manager_get(struct chunk_manager *manager, uint32_t min_bytes,
				    struct chunk **out)
{
	return manager->ops->get(manager, min_bytes, out);
}

/*
 * Asks for a chunk, which the next fulfil lends, never this call; ignored while a request is
 * pending. NULL takes the request back.
 */
static inline void chunk_manager_request(struct chunk_manager *manager,
					 const struct chunk_receiver *receiver)
{
	manager->ops->request(manager, receiver);
}

/* Serves the request, if there is one; the receiver may get and request. */
static inline void chunk_manager_fulfil(struct chunk_manager *manager)
{
	manager->ops->fulfil(manager);
}

/* Takes one chunk that is done; it stays readable until its room is needed. NULL is fine. */
static inline void chunk_manager_release(struct chunk_manager *manager, struct chunk *chunk)
{
	if (chunk)
		manager->ops->release(manager, chunk);
}

/* chunk_shrink() of a lent chunk that is done. */
static inline struct chunk *chunk_manager_shrink(struct chunk_manager *manager, struct chunk *chunk)
{
	return manager->ops->shrink(manager, chunk);
}

/*
 * Takes a list of lent chunks, created, done or recycled, whose contents nobody wants. NULL is
 * fine.
 */
static inline void chunk_manager_give_back(struct chunk_manager *manager, struct chunk *chunks)
{
	if (chunks)
		manager->ops->give_back(manager, chunks);
}

/*
 * Lends the released chunks again, oldest first; contents stay. NULL: there were none. Waits for
 * one that is being compressed.
 */
static inline struct chunk *chunk_manager_reclaim(struct chunk_manager *manager)
{
	return manager->ops->reclaim(manager);
}

/* The same, but they are the caller's for ever: no longer counted. */
static inline struct chunk *chunk_manager_take_released(struct chunk_manager *manager)
{
	return manager->ops->take_released(manager);
}

/* All lent chunks are their users' for ever: no longer counted. */
static inline void chunk_manager_forget(struct chunk_manager *manager)
{
	manager->ops->forget(manager);
}

/*
 * The oldest released chunk, the others follow it; NULL: none. Valid until the manager is next
 * used, or a chunk comes back from the compressor.
 */
static inline const struct chunk *chunk_manager_peek(const struct chunk_manager *manager)
{
	return manager->ops->peek(manager);
}

/* Gives up released chunks that were done at `done_ns` or before. */
static inline void chunk_manager_destroy_at_or_before(struct chunk_manager *manager,
						      uint64_t done_ns)
{
	manager->ops->destroy_at_or_before(manager, done_ns);
}

static inline struct chunk_manager_stats
chunk_manager_get_stats(const struct chunk_manager *manager)
{
	return manager->ops->get_stats(manager);
}

#endif
