/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_manager_single.c - one chunk. */
#include "buffer/chunk_manager_single.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "buffer/chunk.h"

struct chunk_manager_single {
	struct chunk_manager base; /* first */
	struct chunk *initial; /* to be lent */
	struct chunk *released;
	struct chunk_manager_stats stats;
};

static struct chunk_manager_single *single_of(const struct chunk_manager *manager)
{
	return (struct chunk_manager_single *)manager;
}

static int single_get(struct chunk_manager *manager, uint32_t min_bytes, struct chunk **out)
{
	struct chunk_manager_single *single = single_of(manager);
	struct chunk *chunk = single->initial;

	if (!chunk || chunk->header.buffer_bytes < min_bytes)
		return -ENOSPC;
	single->initial = NULL;
	single->stats.unreleased_bytes = chunk->header.stored_bytes;
	single->stats.recycled += chunk->header.state == CHUNK_RECYCLED;
	*out = chunk;
	return 0;
}

static void single_request(struct chunk_manager *manager, const struct chunk_receiver *receiver)
{
	struct chunk *chunk = NULL;

	if (!receiver)
		return;
	(void)single_get(manager, 1, &chunk);
	receiver->on_chunk(receiver->context, chunk);
}

static void single_fulfil(struct chunk_manager *manager)
{
}

static void single_release(struct chunk_manager *manager, struct chunk *chunk)
{
	struct chunk_manager_single *single = single_of(manager);

	assert(chunk->header.state == CHUNK_DONE && !chunk->next && !single->released);
	single->released = chunk;
	single->stats.unreleased_bytes = 0;
	single->stats.released_bytes = chunk->header.stored_bytes;
}

static struct chunk *single_shrink(struct chunk_manager *manager, struct chunk *chunk)
{
	return chunk;
}

static void single_give_back(struct chunk_manager *manager, struct chunk *chunks)
{
	struct chunk_manager_single *single = single_of(manager);

	assert(!chunks->next && !single->initial && !single->released);
	chunk_mark_recycled(chunks);
	single->initial = chunks;
	single->stats.unreleased_bytes = 0;
}

static struct chunk *single_take_released(struct chunk_manager *manager)
{
	struct chunk_manager_single *single = single_of(manager);
	struct chunk *chunk = single->released;

	single->released = NULL;
	single->stats.released_bytes = 0;
	return chunk;
}

static struct chunk *single_reclaim(struct chunk_manager *manager)
{
	struct chunk *chunk = single_take_released(manager);

	if (chunk)
		single_of(manager)->stats.unreleased_bytes = chunk->header.stored_bytes;
	return chunk;
}

static void single_forget(struct chunk_manager *manager)
{
	single_of(manager)->stats.unreleased_bytes = 0;
}

static const struct chunk *single_peek(const struct chunk_manager *manager)
{
	return single_of(manager)->released;
}

static void single_destroy_at_or_before(struct chunk_manager *manager, uint64_t done_ns)
{
}

static struct chunk_manager_stats single_get_stats(const struct chunk_manager *manager)
{
	return single_of(manager)->stats;
}

static void single_close(struct chunk_manager *manager)
{
	struct chunk_manager_single *single = single_of(manager);

	assert(single->stats.unreleased_bytes == 0);
	chunk_destroy(single->initial);
	chunk_destroy(single->released);
	free(single);
}

static const struct chunk_manager_ops single_ops = {
	.close = single_close,
	.get = single_get,
	.request = single_request,
	.fulfil = single_fulfil,
	.release = single_release,
	.shrink = single_shrink,
	.give_back = single_give_back,
	.reclaim = single_reclaim,
	.take_released = single_take_released,
	.forget = single_forget,
	.peek = single_peek,
	.destroy_at_or_before = single_destroy_at_or_before,
	.get_stats = single_get_stats,
};

static void set_size(struct chunk_manager_single *single)
{
	single->base.max_bytes = single->initial->header.buffer_bytes;
	single->base.max_block_bytes = single->initial->header.buffer_bytes;
}

int chunk_manager_single_open(struct chunk_manager **out, uint32_t chunk_bytes)
{
	struct chunk_manager_single *single = calloc(1, sizeof(*single));

	if (!single)
		return -ENOMEM;
	single->initial = chunk_create(chunk_bytes);
	if (!single->initial) {
		free(single);
		return -ENOMEM;
	}
	single->base.ops = &single_ops;
	single->stats.made = 1;
	set_size(single);
	*out = &single->base;
	return 0;
}

void chunk_manager_single_reset(struct chunk_manager *manager, struct chunk *chunk)
{
	struct chunk_manager_single *single = single_of(manager);

	assert(chunk_manager_is_single(manager) && !single->stats.unreleased_bytes);
	if (!chunk) {
		chunk = single->released ? single->released : single->initial;
	} else {
		chunk_destroy(single->released);
		chunk_destroy(single->initial);
	}
	single->released = NULL;
	single->stats.released_bytes = 0;
	single->initial = chunk;
	if (!chunk)
		return;
	chunk_mark_recycled(chunk);
	set_size(single);
}

bool chunk_manager_is_single(const struct chunk_manager *manager)
{
	return manager->ops == &single_ops;
}
