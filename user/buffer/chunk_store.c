/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_store.c - see chunk_store.h. */
#include "buffer/chunk_store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An owner's first chunk is 4 to 64 KiB, a 64th of what its last ones may be. */
#define CHUNK_FIRST_BYTES (4U * 1024)
#define CHUNK_FIRST_MAX_BYTES (64U * 1024)
#define FIRST_OF_FAIR 64
#define CHUNK_LEAST_BYTES 64U
/* Of the limit, each owner's chunk is at most this part; never less than a quarter. */
#define CHUNKS_IN_LIMIT 16
#define CHUNKS_AT_LEAST 4

#define KEPT_MAX 2
#define WORTH_BYTES 1024 /* smaller chunks are not compressed */

struct chunk_store {
	/* with sizes filled in, but for a chunk_first_bytes of 0 */
	struct chunk_store_config config;
	/* The owners' thread only. */
	TAILQ_HEAD(, chunk_owner) requests;
	uint64_t complete_since_ns;

	pthread_mutex_t lock; /* of all that follows, and of the links and loans of chunks */
	struct chunk_list released; /* by done time */
	struct chunk_list waiting; /* for the compressor; the newest first */
	struct chunk *kept[KEPT_MAX]; /* empty; the one kept longest first */
	uint32_t kept_count;
	uint32_t first_bytes; /* size of an owner's first chunk at this moment */
	struct chunk_store_stats stats;
	uint32_t borrowed; /* by the compressor */
	uint32_t paused; /* it gets nothing meanwhile */
	bool is_stopped; /* nor any more */
	pthread_cond_t work; /* there is something to borrow, or no longer ever */
	pthread_cond_t came_back; /* a chunk did */
};

static void lock(struct chunk_store *store)
{
	pthread_mutex_lock(&store->lock);
}

static void unlock(struct chunk_store *store)
{
	pthread_mutex_unlock(&store->lock);
}

/* ---- kept for reuse ------------------------------------------------------------------ */

static struct chunk *remove_kept(struct chunk_store *store, uint32_t at)
{
	struct chunk *chunk = store->kept[at];

	store->kept_count--;
	memmove(store->kept + at, store->kept + at + 1,
		(store->kept_count - at) * sizeof(store->kept[0]));
	return chunk;
}

/* One of at least `bytes` and less than double; NULL: there is none. */
static struct chunk *take_kept(struct chunk_store *store, uint32_t bytes)
{
	uint32_t n;

	for (n = 0; n < store->kept_count; n++) {
		uint32_t has = store->kept[n]->header.buffer_bytes;

		if (has >= bytes && has / 2 < bytes)
			return remove_kept(store, n);
	}
	return NULL;
}

static void keep_or_free(struct chunk_store *store, struct chunk *chunk)
{
	uint32_t bytes = chunk->header.buffer_bytes;

	if (!chunk_is_compressed(chunk))
		chunk_recycle(chunk);
	if (chunk_is_compressed(chunk) || bytes < store->first_bytes ||
	    bytes > store->stats.chunk_max_bytes) {
		chunk_destroy(chunk);
		return;
	}
	if (store->kept_count == KEPT_MAX)
		chunk_destroy(remove_kept(store, 0));
	store->kept[store->kept_count++] = chunk;
}

/* ---- sizes --------------------------------------------------------------------------- */

static uint64_t power_of_two_up_to(uint64_t value)
{
	return value ? 1ULL << (63 - __builtin_clzll(value)) : 0;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

/* Chunks kept that are larger go. */
static void set_chunk_max(struct chunk_store *store, uint32_t bytes)
{
	uint32_t n = store->kept_count;

	store->stats.chunk_max_bytes = bytes;
	while (n--) {
		if (store->kept[n]->header.buffer_bytes > bytes)
			chunk_destroy(remove_kept(store, n));
	}
}

/* The more owners fill, the smaller their chunks. */
static void fit_chunks(struct chunk_store *store)
{
	uint64_t live = store->stats.live ? store->stats.live : 1;
	uint64_t most = clamp(power_of_two_up_to(store->config.max_bytes / CHUNKS_AT_LEAST),
			      CHUNK_LEAST_BYTES, store->config.chunk_max_bytes);
	uint64_t fair = power_of_two_up_to(store->config.max_bytes / (CHUNKS_IN_LIMIT * live));
	uint64_t first = store->config.chunk_first_bytes;
	uint64_t bytes;

	if (!first)
		first = clamp(power_of_two_up_to(fair / FIRST_OF_FAIR), CHUNK_FIRST_BYTES,
			      CHUNK_FIRST_MAX_BYTES);
	bytes = fair < first ? first : fair;
	bytes = bytes < most ? bytes : most;
	store->first_bytes = (uint32_t)(first < bytes ? first : bytes);
	if (bytes != store->stats.chunk_max_bytes)
		set_chunk_max(store, (uint32_t)bytes);
}

static uint32_t bytes_wanted(const struct chunk_store *store, struct chunk_owner *owner,
			     uint32_t min_bytes)
{
	if (owner->next_bytes > store->stats.chunk_max_bytes)
		owner->next_bytes = store->stats.chunk_max_bytes;
	return owner->next_bytes > min_bytes ? owner->next_bytes : min_bytes;
}

/* ---- lent and given back --------------------------------------------------------------- */

static void count_lent(struct chunk_store *store, struct chunk_owner *owner,
		       const struct chunk *chunk)
{
	store->stats.unreleased_bytes += chunk->header.stored_bytes;
	if (owner->lent++)
		return;
	store->stats.live++;
	fit_chunks(store);
}

static void count_returned(struct chunk_store *store, struct chunk_owner *owner,
			   const struct chunk *chunk)
{
	assert(owner->lent && store->stats.unreleased_bytes >= chunk->header.stored_bytes);
	store->stats.unreleased_bytes -= chunk->header.stored_bytes;
	if (--owner->lent)
		return;
	store->stats.live--;
	fit_chunks(store);
}

/* NULL is fine. */
static void give_back(struct chunk_store *store, struct chunk_owner *owner, struct chunk *chunk)
{
	if (!chunk)
		return;
	count_returned(store, owner, chunk);
	keep_or_free(store, chunk);
}

/* ---- the queue of what is released ----------------------------------------------------- */

static void add_waiting(struct chunk_store *store, struct chunk *chunk)
{
	if (chunk->header.stored_bytes < WORTH_BYTES)
		return;
	chunk->loan = CHUNK_LOAN_WAITING;
	TAILQ_INSERT_HEAD(&store->waiting, chunk, waiting);
	pthread_cond_signal(&store->work);
}

static void remove_waiting(struct chunk_store *store, struct chunk *chunk)
{
	chunk->loan = CHUNK_LOAN_NONE;
	TAILQ_REMOVE(&store->waiting, chunk, waiting);
}

/* Out of both lists; a chunk that is being compressed is freed when it comes back. */
static void remove_released(struct chunk_store *store, struct chunk *chunk)
{
	TAILQ_REMOVE(&store->released, chunk, released);
	TAILQ_REMOVE(&chunk->owner->released, chunk, owned);
	chunk->owner = NULL;
	store->stats.released_bytes -= chunk->header.stored_bytes;
	if (chunk->loan == CHUNK_LOAN_WAITING)
		remove_waiting(store, chunk);
	if (chunk->loan == CHUNK_LOAN_NONE)
		keep_or_free(store, chunk);
}

static void destroy_released(struct chunk_store *store, struct chunk *chunk)
{
	chunk->owner->range_start = chunk_range_end(chunk);
	chunk->owner->cleared += chunk->header.block_count;
	chunk->owner->others_cleared += chunk->header.other_count;
	store->stats.destroyed++;
	remove_released(store, chunk);
}

static bool limit_reached(const struct chunk_store *store, uint64_t bytes)
{
	const struct chunk_store_stats *stats = &store->stats;
	uint64_t used = stats->unreleased_bytes + stats->released_bytes + stats->extra_bytes;

	return used + bytes >= stats->max_bytes;
}

static void make_room(struct chunk_store *store, uint64_t bytes)
{
	struct chunk *oldest;

	while ((oldest = TAILQ_FIRST(&store->released)) && limit_reached(store, bytes)) {
		store->complete_since_ns = oldest->header.done_ns;
		destroy_released(store, oldest);
	}
}

static struct chunk *reuse_or_make(struct chunk_store *store, uint32_t bytes)
{
	struct chunk *chunk = take_kept(store, bytes);

	if (chunk) {
		store->stats.recycled++;
		return chunk;
	}
	chunk = chunk_create(bytes);
	store->stats.made += chunk != NULL;
	return chunk;
}

/* NULL: no memory. */
static struct chunk *lend(struct chunk_store *store, struct chunk_owner *owner, uint32_t min_bytes)
{
	uint32_t bytes = bytes_wanted(store, owner, min_bytes);
	struct chunk *chunk;

	make_room(store, bytes);
	chunk = reuse_or_make(store, bytes);
	if (!chunk)
		return NULL;
	if (owner->next_bytes <= store->stats.chunk_max_bytes / 2)
		owner->next_bytes *= 2;
	count_lent(store, owner, chunk);
	return chunk;
}

/* ---- what owners do -------------------------------------------------------------------- */

void chunk_store_request(struct chunk_store *store, struct chunk_owner *owner)
{
	if (owner->next || owner->is_requested)
		return;
	owner->is_requested = true;
	TAILQ_INSERT_TAIL(&store->requests, owner, requests);
}

static void end_request(struct chunk_store *store, struct chunk_owner *owner)
{
	if (!owner->is_requested)
		return;
	owner->is_requested = false;
	TAILQ_REMOVE(&store->requests, owner, requests);
}

void chunk_store_fulfil(struct chunk_store *store)
{
	struct chunk_owner *owner;

	lock(store);
	while ((owner = TAILQ_FIRST(&store->requests))) {
		end_request(store, owner);
		owner->next = lend(store, owner, 1);
	}
	unlock(store);
}

int chunk_store_get(struct chunk_store *store, struct chunk_owner *owner, uint32_t min_bytes,
		    struct chunk **out)
{
	struct chunk *chunk = owner->next;

	if (chunk && chunk->header.buffer_bytes >= min_bytes) {
		owner->next = NULL;
		*out = chunk;
		return 0;
	}
	end_request(store, owner);
	lock(store);
	chunk = lend(store, owner, min_bytes);
	unlock(store);
	if (!chunk)
		return -ENOMEM;
	*out = chunk;
	return 0;
}

void chunk_store_forgo(struct chunk_store *store, struct chunk_owner *owner)
{
	end_request(store, owner);
	lock(store);
	give_back(store, owner, owner->next);
	owner->next = NULL;
	unlock(store);
}

struct chunk *chunk_store_shrink(struct chunk_store *store, struct chunk *chunk)
{
	lock(store);
	store->stats.unreleased_bytes -= chunk->header.stored_bytes;
	chunk = chunk_shrink(chunk);
	store->stats.unreleased_bytes += chunk->header.stored_bytes;
	unlock(store);
	return chunk;
}

void chunk_store_release(struct chunk_store *store, struct chunk_owner *owner, struct chunk *chunk)
{
	chunk_mark_done(chunk);
	lock(store);
	count_returned(store, owner, chunk);
	store->stats.released_bytes += chunk->header.stored_bytes;
	chunk->owner = owner;
	TAILQ_INSERT_TAIL(&owner->released, chunk, owned);
	TAILQ_INSERT_TAIL(&store->released, chunk, released);
	add_waiting(store, chunk);
	unlock(store);
}

void chunk_store_join(struct chunk_store *store, struct chunk_owner *owner)
{
	TAILQ_INIT(&owner->released);
	owner->next_bytes = store->first_bytes;
	store->stats.owners++;
}

void chunk_store_leave(struct chunk_store *store, struct chunk_owner *owner, struct chunk *current)
{
	struct chunk *chunk;

	chunk_store_forgo(store, owner);
	lock(store);
	give_back(store, owner, current);
	while ((chunk = TAILQ_FIRST(&owner->released)))
		destroy_released(store, chunk);
	store->stats.owners--;
	unlock(store);
	assert(!owner->lent);
}

void chunk_store_set_extra(struct chunk_store *store, uint64_t bytes)
{
	lock(store);
	store->stats.extra_bytes = bytes;
	make_room(store, 0);
	unlock(store);
}

struct chunk_store_stats chunk_store_get_stats(struct chunk_store *store)
{
	struct chunk_store_stats stats;

	lock(store);
	stats = store->stats;
	unlock(store);
	return stats;
}

uint64_t chunk_store_complete_since_ns(const struct chunk_store *store)
{
	return store->complete_since_ns;
}

const struct chunk_expander *chunk_store_expander(const struct chunk_store *store)
{
	return store->config.expander;
}

/* ---- what the compressor does ------------------------------------------------------------ */

/* NULL: nothing waits, or nothing is to be lent now. */
static struct chunk *borrow_newest(struct chunk_store *store)
{
	struct chunk *chunk = TAILQ_FIRST(&store->waiting);

	if (!chunk || store->paused || store->is_stopped)
		return NULL;
	remove_waiting(store, chunk);
	chunk->loan = CHUNK_LOAN_LENT;
	store->borrowed++;
	return chunk;
}

struct chunk *chunk_store_borrow(struct chunk_store *store, bool waits)
{
	struct chunk *chunk;

	lock(store);
	while (!(chunk = borrow_newest(store)) && waits && !store->is_stopped)
		pthread_cond_wait(&store->work, &store->lock);
	unlock(store);
	return chunk;
}

/* The twin takes the chunk's place. */
static void replace(struct chunk_store *store, struct chunk *chunk, struct chunk *twin)
{
	twin->owner = chunk->owner;
	TAILQ_INSERT_AFTER(&store->released, chunk, twin, released);
	TAILQ_INSERT_AFTER(&chunk->owner->released, chunk, twin, owned);
	store->stats.released_bytes += twin->header.stored_bytes;
	store->stats.compressed++;
	remove_released(store, chunk);
}

void chunk_store_return(struct chunk_store *store, struct chunk *chunk, struct chunk *twin)
{
	lock(store);
	assert(chunk->loan == CHUNK_LOAN_LENT);
	chunk->loan = CHUNK_LOAN_NONE;
	store->borrowed--;
	pthread_cond_broadcast(&store->came_back);
	if (!chunk->owner) {
		keep_or_free(store, chunk);
		chunk_destroy(twin);
	} else if (twin) {
		replace(store, chunk, twin);
	}
	unlock(store);
}

void chunk_store_stop(struct chunk_store *store)
{
	lock(store);
	store->is_stopped = true;
	pthread_cond_broadcast(&store->work);
	unlock(store);
}

void chunk_store_pause(struct chunk_store *store)
{
	lock(store);
	store->paused++;
	while (store->borrowed)
		pthread_cond_wait(&store->came_back, &store->lock);
	unlock(store);
}

void chunk_store_resume(struct chunk_store *store)
{
	lock(store);
	assert(store->paused);
	store->paused--;
	pthread_cond_broadcast(&store->work);
	unlock(store);
}

/*
 * Nothing being borrowed is not enough: a thread that asks for work has the lock for a moment, and
 * would have it for ever in the child.
 */
pid_t chunk_store_fork(struct chunk_store *store)
{
	pid_t child;
	int err;

	chunk_store_pause(store);
	lock(store);
	child = fork();
	err = errno;
	unlock(store);
	if (child)
		chunk_store_resume(store);
	errno = err;
	return child;
}

/* ---- life ------------------------------------------------------------------------------ */

static int init_lock(struct chunk_store *store)
{
	int err = pthread_mutex_init(&store->lock, NULL);

	if (err)
		return -err;
	err = pthread_cond_init(&store->work, NULL);
	if (err)
		goto no_work;
	err = pthread_cond_init(&store->came_back, NULL);
	if (err)
		goto no_came_back;
	return 0;

no_came_back:
	pthread_cond_destroy(&store->work);
no_work:
	pthread_mutex_destroy(&store->lock);
	return -err;
}

int chunk_store_open(struct chunk_store **out, const struct chunk_store_config *config)
{
	struct chunk_store *store = calloc(1, sizeof(*store));
	int err;

	if (!store)
		return -ENOMEM;
	err = init_lock(store);
	if (err) {
		free(store);
		return err;
	}
	store->config = *config;
	if (!config->chunk_max_bytes)
		store->config.chunk_max_bytes = CHUNK_MAX_BYTES;
	store->stats.max_bytes = config->max_bytes;
	TAILQ_INIT(&store->requests);
	TAILQ_INIT(&store->released);
	TAILQ_INIT(&store->waiting);
	fit_chunks(store);
	*out = store;
	return 0;
}

void chunk_store_close(struct chunk_store *store)
{
	if (!store)
		return;
	assert(!store->stats.owners && !store->borrowed);
	while (store->kept_count)
		chunk_destroy(remove_kept(store, 0));
	pthread_cond_destroy(&store->came_back);
	pthread_cond_destroy(&store->work);
	pthread_mutex_destroy(&store->lock);
	free(store);
}
