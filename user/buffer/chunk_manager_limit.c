/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_manager_limit.c - chunks under a limit. */
#include "buffer/chunk_manager_limit.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "buffer/chunk.h"
#include "buffer/chunk_domain.h"
#include "buffer/chunk_update.h"

struct chunk_manager_limit {
	struct chunk_manager base; /* first */
	struct chunk_domain *domain;
	bool owns_domain;
	uint32_t next_bytes; /* size of the chunk to make next */
	struct chunk *released; /* done times never fall; equal ones in order of arrival */
	struct chunk *released_last;
	struct chunk_receiver request; /* on_chunk NULL: none is pending */
	struct chunk_listener listener; /* on_update NULL: none */
	struct chunk_manager_hooks hooks;
	struct chunk_manager_stats stats;
};

static struct chunk_manager_limit *limit_of(const struct chunk_manager *manager)
{
	return (struct chunk_manager_limit *)manager;
}

/* Returns with the lock held. */
static struct chunk_manager_limit *lock(const struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = limit_of(manager);

	pthread_mutex_lock(&limit->domain->lock);
	return limit;
}

static void unlock(const struct chunk_manager_limit *limit)
{
	pthread_mutex_unlock(&limit->domain->lock);
}

/* ---- updates ------------------------------------------------------------------- */

/* Tells the totals, and of the chunk that was just released; NULL: there is none. */
static void tell(const struct chunk_manager_limit *limit, const struct chunk *newly)
{
	struct released_chunk item;
	struct chunk_update update = {
		.kind = CHUNK_UPDATE_STATE,
		.unreleased_bytes = limit->stats.unreleased_bytes,
		.released_bytes = limit->stats.released_bytes,
		.oldest_done_ns = limit->released ? limit->released->header.done_ns : 0,
	};

	if (!limit->listener.on_update)
		return;
	if (newly) {
		item = (struct released_chunk){newly->header.done_ns, newly->header.stored_bytes};
		update.items = &item;
		update.count = 1;
	}
	limit->listener.on_update(limit->listener.context, &update);
}

static void tell_final(struct chunk_manager_limit *limit)
{
	struct chunk_listener listener = limit->listener;

	limit->listener = (struct chunk_listener){0};
	if (listener.on_update)
		listener.on_update(listener.context,
				   &(struct chunk_update){.kind = CHUNK_UPDATE_FINAL});
}

int chunk_manager_limit_listen(struct chunk_manager *manager, const struct chunk_listener *listener)
{
	struct chunk_manager_limit *limit = lock(manager);
	struct chunk_update now = {0};
	int err = 0;

	if (listener)
		err = chunk_update_from_chunks(&now, limit->stats.unreleased_bytes,
					       limit->stats.released_bytes, limit->released,
					       limit->released);
	if (!err) {
		tell_final(limit);
		if (listener) {
			limit->listener = *listener;
			listener->on_update(listener->context, &now);
		}
	}
	unlock(limit);
	chunk_update_clear(&now);
	return err;
}

/* ---- counting ------------------------------------------------------------------ */

static void count_lent(struct chunk_manager_limit *limit, const struct chunk *chunk)
{
	limit->stats.unreleased_bytes += chunk->header.stored_bytes;
}

static void count_returned(struct chunk_manager_limit *limit, const struct chunk *chunk)
{
	assert(limit->stats.unreleased_bytes >= chunk->header.stored_bytes);
	limit->stats.unreleased_bytes -= chunk->header.stored_bytes;
}

static struct chunk_manager_stats limit_get_stats(const struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);
	struct chunk_manager_stats stats = limit->stats;

	unlock(limit);
	return stats;
}

/* ---- the released ones --------------------------------------------------------- */

/* What points to the chunk after `before`; NULL: to the oldest. */
static struct chunk **link_after(struct chunk_manager_limit *limit, struct chunk *before)
{
	return before ? &before->next : &limit->released;
}

/* `before` is followed by `chunk`; NULL: by none. */
static void set_before(struct chunk_manager_limit *limit, struct chunk *chunk, struct chunk *before)
{
	if (chunk)
		chunk->loan.before = before;
	else
		limit->released_last = before;
}

static void insert_by_done_time(struct chunk_manager_limit *limit, struct chunk *chunk)
{
	struct chunk *before = limit->released_last;

	/* Nearly always the newest of all. */
	while (before && before->header.done_ns > chunk->header.done_ns)
		before = before->loan.before;
	chunk->next = *link_after(limit, before);
	chunk->loan.before = before;
	*link_after(limit, before) = chunk;
	set_before(limit, chunk->next, chunk);
}

/* ---- lending ------------------------------------------------------------------- */

static void destroy_oldest(struct chunk_manager_limit *limit)
{
	const struct chunk_witness *witness = &limit->base.witness;
	struct chunk *oldest = limit->released;

	limit->released = chunk_release_next(oldest);
	set_before(limit, limit->released, NULL);
	limit->stats.released_bytes -= oldest->header.stored_bytes;
	limit->stats.destroyed++;
	limit->domain->destroyed++;
	if (witness->on_destroy)
		witness->on_destroy(witness->context, oldest);
	chunk_domain_discard(limit->domain, oldest);
}

static bool limit_reached(const struct chunk_manager_limit *limit, uint32_t bytes)
{
	const struct chunk_manager_stats *stats = &limit->stats;

	return stats->released_bytes + stats->unreleased_bytes + bytes >= limit->base.max_bytes;
}

static struct chunk *reuse_or_make(struct chunk_manager_limit *limit, uint32_t bytes)
{
	struct chunk_domain *domain = limit->domain;
	struct chunk *chunk = chunk_domain_take_kept(domain, bytes);

	if (chunk) {
		limit->stats.recycled++;
		domain->recycled++;
		return chunk;
	}
	chunk = chunk_create(bytes);
	if (chunk) {
		limit->stats.made++;
		domain->made++;
	}
	return chunk;
}

static uint32_t bytes_wanted(struct chunk_manager_limit *limit, uint32_t min_bytes)
{
	if (limit->next_bytes > limit->domain->chunk_max_bytes)
		limit->next_bytes = limit->domain->chunk_max_bytes;
	return limit->next_bytes > min_bytes ? limit->next_bytes : min_bytes;
}

static int limit_get(struct chunk_manager *manager, uint32_t min_bytes, struct chunk **out)
{
	struct chunk_manager_limit *limit = limit_of(manager);
	uint32_t bytes = bytes_wanted(limit, min_bytes);
	struct chunk *chunk;
	bool any = false;

	if (limit->hooks.make_room)
		limit->hooks.make_room(limit->hooks.context, bytes);
	lock(manager);
	while (limit->released && limit_reached(limit, bytes)) {
		destroy_oldest(limit);
		any = true;
	}
	chunk = reuse_or_make(limit, bytes);
	if (chunk) {
		if (limit->next_bytes <= limit->domain->chunk_max_bytes / 2)
			limit->next_bytes *= 2;
		count_lent(limit, chunk);
	}
	if (chunk || any)
		tell(limit, NULL);
	unlock(limit);
	if (!chunk)
		return -ENOMEM;
	*out = chunk;
	return 0;
}

static void limit_request(struct chunk_manager *manager, const struct chunk_receiver *receiver)
{
	struct chunk_manager_limit *limit = limit_of(manager);
	bool is_pending = limit->request.on_chunk;

	if (!receiver)
		limit->request = (struct chunk_receiver){0};
	else if (!is_pending)
		limit->request = *receiver;
	if (receiver && !is_pending && limit->hooks.requested)
		limit->hooks.requested(limit->hooks.context);
}

static void limit_fulfil(struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = limit_of(manager);
	struct chunk_receiver receiver = limit->request;
	struct chunk *chunk = NULL;

	if (!receiver.on_chunk)
		return;
	limit->request = (struct chunk_receiver){0};
	(void)limit_get(manager, 1, &chunk);
	receiver.on_chunk(receiver.context, chunk);
}

/* ---- taking back --------------------------------------------------------------- */

static void limit_release(struct chunk_manager *manager, struct chunk *chunk)
{
	struct chunk_manager_limit *limit = lock(manager);

	assert(chunk->header.state == CHUNK_DONE && !chunk->next);
	count_returned(limit, chunk);
	limit->stats.released_bytes += chunk->header.stored_bytes;
	insert_by_done_time(limit, chunk);
	chunk->loan.keeper = limit;
	chunk_domain_add_waiting(limit->domain, chunk);
	tell(limit, chunk);
	unlock(limit);
}

static struct chunk *limit_shrink(struct chunk_manager *manager, struct chunk *chunk)
{
	struct chunk_manager_limit *limit = lock(manager);

	count_returned(limit, chunk);
	chunk = chunk_shrink(chunk);
	limit->stats.unreleased_bytes += chunk->header.stored_bytes;
	tell(limit, NULL);
	unlock(limit);
	return chunk;
}

static void limit_give_back(struct chunk_manager *manager, struct chunk *chunks)
{
	struct chunk_manager_limit *limit = lock(manager);

	while (chunks) {
		struct chunk *next = chunk_release_next(chunks);

		count_returned(limit, chunks);
		chunk_domain_discard(limit->domain, chunks);
		chunks = next;
	}
	tell(limit, NULL);
	unlock(limit);
}

/* Until the compressor has none of them. A chunk that comes back may be another one. */
static void recall_released(struct chunk_manager_limit *limit)
{
	struct chunk *chunk = limit->released;

	while (chunk) {
		if (chunk_domain_recall(limit->domain, chunk)) {
			chunk = chunk->next;
			continue;
		}
		pthread_cond_wait(&limit->domain->came_back, &limit->domain->lock);
		chunk = limit->released;
	}
}

/* All released chunks, off the list. */
static struct chunk *detach_released(struct chunk_manager_limit *limit)
{
	struct chunk *chunks, *chunk;

	recall_released(limit);
	chunks = limit->released;
	for (chunk = chunks; chunk; chunk = chunk->next)
		chunk->loan.keeper = NULL;
	limit->released = NULL;
	limit->released_last = NULL;
	limit->stats.released_bytes = 0;
	return chunks;
}

static struct chunk *limit_reclaim(struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);
	uint64_t moved;
	struct chunk *chunks;

	recall_released(limit);
	moved = limit->stats.released_bytes;
	chunks = detach_released(limit);
	limit->stats.unreleased_bytes += moved;
	tell(limit, NULL);
	unlock(limit);
	return chunks;
}

static struct chunk *limit_take_released(struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);
	struct chunk *chunks = detach_released(limit);

	tell(limit, NULL);
	unlock(limit);
	return chunks;
}

static void limit_forget(struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);

	limit->stats.unreleased_bytes = 0;
	tell(limit, NULL);
	unlock(limit);
}

static const struct chunk *limit_peek(const struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);
	const struct chunk *chunk = limit->released;

	unlock(limit);
	return chunk;
}

static void limit_destroy_at_or_before(struct chunk_manager *manager, uint64_t done_ns)
{
	struct chunk_manager_limit *limit = lock(manager);
	bool any = false;

	while (limit->released && limit->released->header.done_ns <= done_ns) {
		destroy_oldest(limit);
		any = true;
	}
	if (any)
		tell(limit, NULL);
	unlock(limit);
}

void chunk_manager_limit_replace(struct chunk_manager_limit *limit, struct chunk *chunk,
				 struct chunk *compressed)
{
	struct chunk *before = chunk->loan.before;

	assert(chunk_is_compressed(compressed) && chunk->loan.state == CHUNK_LOAN_NONE);
	compressed->next = chunk_release_next(chunk);
	compressed->loan = (struct chunk_loan){.keeper = limit, .before = before};
	*link_after(limit, before) = compressed;
	set_before(limit, compressed->next, compressed);
	limit->stats.released_bytes -= chunk->header.stored_bytes;
	limit->stats.released_bytes += compressed->header.stored_bytes;
	limit->stats.compressed++;
	limit->domain->compressed++;
	chunk_domain_discard(limit->domain, chunk);
	tell(limit, NULL);
}

/* ---- life ---------------------------------------------------------------------- */

static void limit_close(struct chunk_manager *manager)
{
	struct chunk_manager_limit *limit = lock(manager);
	struct chunk_domain *domain = limit->domain;

	assert(limit->stats.unreleased_bytes == 0);
	while (limit->released) {
		struct chunk *chunk = limit->released;

		limit->released = chunk_release_next(chunk);
		chunk_domain_discard(domain, chunk);
	}
	tell_final(limit);
	unlock(limit);
	if (limit->owns_domain) {
		chunk_domain_clear(domain);
		free(domain);
	}
	free(limit);
}

static const struct chunk_manager_ops limit_ops = {
	.close = limit_close,
	.get = limit_get,
	.request = limit_request,
	.fulfil = limit_fulfil,
	.release = limit_release,
	.shrink = limit_shrink,
	.give_back = limit_give_back,
	.reclaim = limit_reclaim,
	.take_released = limit_take_released,
	.forget = limit_forget,
	.peek = limit_peek,
	.destroy_at_or_before = limit_destroy_at_or_before,
	.get_stats = limit_get_stats,
};

static int own_domain(struct chunk_domain **out, const struct chunk_manager_limit_config *config)
{
	uint32_t first =
		config->chunk_first_bytes ? config->chunk_first_bytes : config->chunk_max_bytes;
	struct chunk_domain *domain;
	int err;

	if (!first || config->chunk_max_bytes < first)
		return -EINVAL;
	domain = malloc(sizeof(*domain));
	if (!domain)
		return -ENOMEM;
	err = chunk_domain_init(domain, first, config->chunk_max_bytes);
	if (err) {
		free(domain);
		return err;
	}
	*out = domain;
	return 0;
}

int chunk_manager_limit_open(struct chunk_manager **out,
			     const struct chunk_manager_limit_config *config)
{
	struct chunk_manager_limit *limit = calloc(1, sizeof(*limit));
	int err;

	if (!limit)
		return -ENOMEM;
	limit->domain = config->domain;
	limit->owns_domain = !config->domain;
	if (limit->owns_domain) {
		err = own_domain(&limit->domain, config);
		if (err) {
			free(limit);
			return err;
		}
	}
	limit->base = (struct chunk_manager){
		.ops = &limit_ops,
		.max_bytes = config->max_total_bytes,
		.max_block_bytes = MAX_BLOCK_BYTES,
		.expander = config->expander,
	};
	limit->next_bytes = limit->domain->chunk_first_bytes;
	limit->hooks = config->hooks;
	*out = &limit->base;
	return 0;
}
