/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_manager.c - one limit for the chunks of all buffers. */
#include "buffer/chunk_manager.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "buffer/chunk.h"

#define KEPT_MAX 2

struct chunk_manager {
	uint64_t max_total_bytes;
	uint32_t chunk_min_bytes;
	uint32_t kept_count;
	struct chunk *kept; /* recycled, at most KEPT_MAX */
	struct chunk *released; /* done times never fall; equal ones in order of arrival */
	struct chunk *released_last;
	struct chunk_manager_stats stats;
};

int chunk_manager_open(struct chunk_manager **out, uint64_t max_total_bytes,
		       uint32_t chunk_min_bytes)
{
	struct chunk_manager *manager;

	if (!chunk_min_bytes)
		return -EINVAL;
	manager = calloc(1, sizeof(*manager));
	if (!manager)
		return -ENOMEM;
	manager->max_total_bytes = max_total_bytes;
	manager->chunk_min_bytes = chunk_min_bytes;
	*out = manager;
	return 0;
}

static void destroy_list(struct chunk *chunks)
{
	while (chunks) {
		struct chunk *next = chunk_release_next(chunks);

		chunk_destroy(chunks);
		chunks = next;
	}
}

void chunk_manager_close(struct chunk_manager *manager)
{
	if (!manager)
		return;
	assert(manager->stats.unreleased_bytes == 0);
	destroy_list(manager->released);
	destroy_list(manager->kept);
	free(manager);
}

uint64_t chunk_manager_max_bytes(const struct chunk_manager *manager)
{
	return manager->max_total_bytes;
}

uint32_t chunk_manager_chunk_bytes(const struct chunk_manager *manager)
{
	return manager->chunk_min_bytes;
}

static void keep_or_free(struct chunk_manager *manager, struct chunk *chunk)
{
	bool keep = manager->kept_count < KEPT_MAX &&
		    chunk->header.buffer_bytes >= manager->chunk_min_bytes;

	if (!keep) {
		chunk_destroy(chunk);
		return;
	}
	chunk_mark_recycled(chunk);
	chunk->next = manager->kept;
	manager->kept = chunk;
	manager->kept_count++;
}

static struct chunk *reuse_kept(struct chunk_manager *manager)
{
	struct chunk *chunk = manager->kept;

	if (!chunk)
		return NULL;
	manager->kept = chunk_release_next(chunk);
	manager->kept_count--;
	manager->stats.recycled++;
	return chunk;
}

static void destroy_oldest(struct chunk_manager *manager)
{
	struct chunk *oldest = manager->released;

	manager->released = chunk_release_next(oldest);
	if (!manager->released)
		manager->released_last = NULL;
	manager->stats.released_bytes -= oldest->header.buffer_bytes;
	manager->stats.destroyed++;
	if (oldest->owner)
		oldest->owner->on_destroy(oldest->owner->context, oldest);
	keep_or_free(manager, oldest);
}

static bool limit_reached(const struct chunk_manager *manager)
{
	const struct chunk_manager_stats *stats = &manager->stats;

	return stats->released_bytes + stats->unreleased_bytes + manager->chunk_min_bytes >=
	       manager->max_total_bytes;
}

int chunk_manager_get(struct chunk_manager *manager, struct chunk **out)
{
	struct chunk *chunk;

	while (manager->released && limit_reached(manager))
		destroy_oldest(manager);
	chunk = reuse_kept(manager);
	if (!chunk) {
		chunk = chunk_create(manager->chunk_min_bytes);
		if (!chunk)
			return -ENOMEM;
		manager->stats.made++;
	}
	manager->stats.unreleased_bytes += chunk->header.buffer_bytes;
	*out = chunk;
	return 0;
}

static void insert_by_done_time(struct chunk_manager *manager, struct chunk *chunk)
{
	struct chunk **link = &manager->released;

	/* Nearly always the newest of all. */
	if (manager->released_last &&
	    manager->released_last->header.done_ns <= chunk->header.done_ns)
		link = &manager->released_last->next;
	while (*link && (*link)->header.done_ns <= chunk->header.done_ns)
		link = &(*link)->next;
	chunk->next = *link;
	*link = chunk;
	if (!chunk->next)
		manager->released_last = chunk;
}

static void count_returned(struct chunk_manager *manager, const struct chunk *chunk)
{
	assert(manager->stats.unreleased_bytes >= chunk->header.buffer_bytes);
	manager->stats.unreleased_bytes -= chunk->header.buffer_bytes;
}

void chunk_manager_release(struct chunk_manager *manager, struct chunk *chunk)
{
	if (!chunk)
		return;
	assert(chunk->header.state == CHUNK_DONE && !chunk->next);
	count_returned(manager, chunk);
	manager->stats.released_bytes += chunk->header.buffer_bytes;
	insert_by_done_time(manager, chunk);
}

void chunk_manager_give_back(struct chunk_manager *manager, struct chunk *chunks)
{
	while (chunks) {
		struct chunk *next = chunk_release_next(chunks);

		count_returned(manager, chunks);
		keep_or_free(manager, chunks);
		chunks = next;
	}
}

struct chunk *chunk_manager_reclaim(struct chunk_manager *manager, const struct chunk_owner *owner)
{
	struct chunk *taken = NULL, **taken_end = &taken;
	struct chunk *last = NULL, **link = &manager->released;

	while (*link) {
		struct chunk *chunk = *link;

		if (chunk->owner != owner) {
			last = chunk;
			link = &chunk->next;
			continue;
		}
		*link = chunk_release_next(chunk);
		*taken_end = chunk;
		taken_end = &chunk->next;
		manager->stats.released_bytes -= chunk->header.buffer_bytes;
		manager->stats.unreleased_bytes += chunk->header.buffer_bytes;
	}
	manager->released_last = last;
	return taken;
}

void chunk_manager_forget(struct chunk_manager *manager, const struct chunk *chunks)
{
	for (; chunks; chunks = chunks->next)
		count_returned(manager, chunks);
}

void chunk_manager_destroy_at_or_before(struct chunk_manager *manager, uint64_t done_ns)
{
	while (manager->released && manager->released->header.done_ns <= done_ns)
		destroy_oldest(manager);
}

const struct chunk *chunk_manager_peek(const struct chunk_manager *manager)
{
	return manager->released;
}

struct chunk_manager_stats chunk_manager_get_stats(const struct chunk_manager *manager)
{
	return manager->stats;
}
