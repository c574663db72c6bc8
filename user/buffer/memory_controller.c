/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_controller.c - the limit of all managers, and what the compressor does. */
#include "buffer/memory_controller.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "buffer/chunk.h"
#include "buffer/chunk_domain.h"
#include "buffer/chunk_manager.h"
#include "buffer/chunk_manager_limit.h"
#include "buffer/chunk_update.h"

/* A process's first chunk is 4 to 64 KiB, a 64th of what its last ones may be. */
#define CHUNK_FIRST_BYTES (4U * 1024)
#define CHUNK_FIRST_MAX_BYTES (64U * 1024)
#define FIRST_OF_FAIR 64
#define CHUNK_LEAST_BYTES 64U
/* Of the limit, each process's chunk is at most this part; never less than a quarter. */
#define CHUNKS_IN_LIMIT 16
#define CHUNKS_AT_LEAST 4

/* What is known of a manager. */
struct managed {
	struct memory_controller *controller;
	struct chunk_manager *manager;
	struct chunk_update fold; /* of all its updates, without the chunks that they list */
	size_t heap_at;
	bool is_waiting; /* for a chunk; linked: */
	struct managed *next_waiting, *previous_waiting;
};

struct managed_heap {
	struct managed **items; /* the oldest released chunk first; those without one last */
	size_t count, capacity;
};

struct memory_controller {
	struct chunk_domain domain; /* its lock is that of the heap, the folds and the totals */
	struct managed_heap heap;
	uint64_t unreleased_bytes, released_bytes;
	uint64_t max_bytes;
	uint32_t chunk_ceiling_bytes;
	uint32_t first_bytes; /* asked for; 0: not */
	size_t live;
	/* The managers' thread only. */
	uint64_t extra_bytes;
	uint64_t complete_since_ns;
	struct managed *first_waiting;
	const struct chunk_expander *expander;
};

static void lock(struct memory_controller *controller)
{
	pthread_mutex_lock(&controller->domain.lock);
}

static void unlock(struct memory_controller *controller)
{
	pthread_mutex_unlock(&controller->domain.lock);
}

/* ---- the heap -------------------------------------------------------------------- */

static uint64_t heap_key(const struct managed *managed)
{
	return managed->fold.oldest_done_ns ? managed->fold.oldest_done_ns : UINT64_MAX;
}

static void heap_set(struct managed_heap *heap, size_t at, struct managed *managed)
{
	heap->items[at] = managed;
	managed->heap_at = at;
}

static void heap_up(struct managed_heap *heap, struct managed *managed)
{
	size_t at = managed->heap_at;

	while (at && heap_key(managed) < heap_key(heap->items[(at - 1) / 2])) {
		heap_set(heap, at, heap->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_set(heap, at, managed);
}

static void heap_down(struct managed_heap *heap, struct managed *managed)
{
	size_t at = managed->heap_at;

	for (;;) {
		size_t child = at * 2 + 1;

		if (child + 1 < heap->count &&
		    heap_key(heap->items[child + 1]) < heap_key(heap->items[child]))
			child++;
		if (child >= heap->count || heap_key(heap->items[child]) >= heap_key(managed))
			break;
		heap_set(heap, at, heap->items[child]);
		at = child;
	}
	heap_set(heap, at, managed);
}

/* The key of `managed` may have changed. */
static void heap_move(struct managed_heap *heap, struct managed *managed)
{
	heap_up(heap, managed);
	heap_down(heap, managed);
}

static void heap_remove(struct managed_heap *heap, struct managed *managed)
{
	struct managed *last = heap->items[--heap->count];

	if (last == managed)
		return;
	heap_set(heap, managed->heap_at, last);
	heap_move(heap, last);
}

/* ---- sizes ----------------------------------------------------------------------- */

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

/* The more processes put, the smaller their chunks. */
static void fit_chunks(struct memory_controller *controller)
{
	uint64_t live = controller->live ? controller->live : 1;
	uint64_t most = clamp(power_of_two_up_to(controller->max_bytes / CHUNKS_AT_LEAST),
			      CHUNK_LEAST_BYTES, controller->chunk_ceiling_bytes);
	uint64_t fair = power_of_two_up_to(controller->max_bytes / (CHUNKS_IN_LIMIT * live));
	uint64_t first = controller->first_bytes;
	uint64_t bytes;

	if (!first)
		first = clamp(power_of_two_up_to(fair / FIRST_OF_FAIR), CHUNK_FIRST_BYTES,
			      CHUNK_FIRST_MAX_BYTES);
	bytes = fair < first ? first : fair;
	bytes = bytes < most ? bytes : most;
	controller->domain.chunk_first_bytes = (uint32_t)(first < bytes ? first : bytes);
	if (bytes != controller->domain.chunk_max_bytes)
		chunk_domain_set_max(&controller->domain, (uint32_t)bytes);
}

/* ---- what managers tell ------------------------------------------------------------ */

static void stop_waiting(struct managed *managed)
{
	if (!managed->is_waiting)
		return;
	managed->is_waiting = false;
	if (managed->previous_waiting)
		managed->previous_waiting->next_waiting = managed->next_waiting;
	else
		managed->controller->first_waiting = managed->next_waiting;
	if (managed->next_waiting)
		managed->next_waiting->previous_waiting = managed->previous_waiting;
}

static void forget_managed(struct managed *managed)
{
	heap_remove(&managed->controller->heap, managed);
	stop_waiting(managed);
	free(managed);
}

static void on_update(void *context, const struct chunk_update *update)
{
	struct managed *managed = context;
	struct memory_controller *controller = managed->controller;
	struct chunk_update totals = *update;
	uint64_t key = heap_key(managed);
	size_t live = controller->live;

	totals.count = 0;
	controller->unreleased_bytes -= managed->fold.unreleased_bytes;
	controller->released_bytes -= managed->fold.released_bytes;
	controller->live -= managed->fold.unreleased_bytes > 0;
	chunk_update_fold(&managed->fold, &totals);
	controller->unreleased_bytes += managed->fold.unreleased_bytes;
	controller->released_bytes += managed->fold.released_bytes;
	controller->live += managed->fold.unreleased_bytes > 0;
	if (managed->fold.kind == CHUNK_UPDATE_FINAL)
		forget_managed(managed);
	else if (heap_key(managed) != key)
		heap_move(&controller->heap, managed);
	if (controller->live != live)
		fit_chunks(controller);
}

static bool limit_reached(const struct memory_controller *controller, uint64_t bytes)
{
	uint64_t used = controller->unreleased_bytes + controller->released_bytes;

	return used + controller->extra_bytes + bytes >= controller->max_bytes;
}

/* Whose chunks go next, and which; NULL: nothing has to go, or nothing can. */
static struct managed *to_shorten(struct memory_controller *controller, uint64_t bytes,
				  uint64_t *done_ns)
{
	struct managed *oldest;

	lock(controller);
	oldest = controller->heap.count ? controller->heap.items[0] : NULL;
	if (oldest)
		*done_ns = oldest->fold.oldest_done_ns;
	if (oldest && (!*done_ns || !limit_reached(controller, bytes)))
		oldest = NULL;
	unlock(controller);
	return oldest;
}

static void make_room(struct memory_controller *controller, uint64_t bytes)
{
	struct managed *oldest;
	uint64_t done_ns;

	while ((oldest = to_shorten(controller, bytes, &done_ns)) != NULL) {
		chunk_manager_destroy_at_or_before(oldest->manager, done_ns);
		if (done_ns > controller->complete_since_ns)
			controller->complete_since_ns = done_ns;
	}
}

static void on_make_room(void *context, uint32_t bytes)
{
	const struct managed *managed = context;

	make_room(managed->controller, bytes);
}

static void on_requested(void *context)
{
	struct managed *managed = context;
	struct memory_controller *controller = managed->controller;

	if (managed->is_waiting)
		return;
	managed->is_waiting = true;
	managed->previous_waiting = NULL;
	managed->next_waiting = controller->first_waiting;
	if (managed->next_waiting)
		managed->next_waiting->previous_waiting = managed;
	controller->first_waiting = managed;
}

/* ---- life -------------------------------------------------------------------------- */

int memory_controller_open(struct memory_controller **out,
			   const struct memory_controller_config *config)
{
	uint32_t first = config->chunk_first_bytes ? config->chunk_first_bytes : CHUNK_FIRST_BYTES;
	uint32_t most = config->chunk_max_bytes ? config->chunk_max_bytes : CHUNK_MAX_BYTES;
	struct memory_controller *controller = calloc(1, sizeof(*controller));
	int err;

	if (!controller)
		return -ENOMEM;
	err = chunk_domain_init(&controller->domain, first < most ? first : most, most);
	if (err) {
		free(controller);
		return err;
	}
	controller->max_bytes = config->max_bytes;
	controller->chunk_ceiling_bytes = most;
	controller->first_bytes = config->chunk_first_bytes;
	controller->expander = config->expander;
	fit_chunks(controller);
	*out = controller;
	return 0;
}

void memory_controller_close(struct memory_controller *controller)
{
	if (!controller)
		return;
	assert(!controller->heap.count);
	chunk_domain_clear(&controller->domain);
	free(controller->heap.items);
	free(controller);
}

static int add_managed(struct memory_controller *controller, struct managed *managed)
{
	int err;

	lock(controller);
	err = ARRAY_ROOM(&controller->heap);
	if (!err) {
		heap_set(&controller->heap, controller->heap.count, managed);
		controller->heap.count++;
	}
	unlock(controller);
	return err;
}

int memory_controller_manager(struct memory_controller *controller, struct chunk_manager **out)
{
	struct managed *managed = calloc(1, sizeof(*managed));
	struct chunk_manager_limit_config config = {
		.max_total_bytes = UINT64_MAX,
		.domain = &controller->domain,
		.hooks = {on_make_room, on_requested, managed},
		.expander = controller->expander,
	};
	const struct chunk_listener listener = {on_update, managed};
	int err;

	if (!managed)
		return -ENOMEM;
	managed->controller = controller;
	err = chunk_manager_limit_open(&managed->manager, &config);
	if (!err)
		err = add_managed(controller, managed);
	if (err) {
		chunk_manager_close(managed->manager);
		free(managed);
		return err;
	}
	/* Nothing is released yet, so that this cannot fail. */
	(void)chunk_manager_limit_listen(managed->manager, &listener);
	*out = managed->manager;
	return 0;
}

void memory_controller_fulfil(struct memory_controller *controller)
{
	struct managed *managed = controller->first_waiting;

	/* Requests made meanwhile are for the next time. */
	controller->first_waiting = NULL;
	while (managed) {
		struct managed *next = managed->next_waiting;

		managed->is_waiting = false;
		chunk_manager_fulfil(managed->manager);
		managed = next;
	}
}

void memory_controller_set_extra(struct memory_controller *controller, uint64_t bytes)
{
	controller->extra_bytes = bytes;
	make_room(controller, 0);
}

struct memory_stats memory_controller_get_stats(struct memory_controller *controller)
{
	const struct chunk_domain *domain = &controller->domain;
	struct memory_stats stats;

	lock(controller);
	stats = (struct memory_stats){
		.max_bytes = controller->max_bytes,
		.unreleased_bytes = controller->unreleased_bytes,
		.released_bytes = controller->released_bytes,
		.extra_bytes = controller->extra_bytes,
		.made = domain->made,
		.recycled = domain->recycled,
		.destroyed = domain->destroyed,
		.compressed = domain->compressed,
		.chunk_max_bytes = domain->chunk_max_bytes,
		.managers = controller->heap.count,
		.live = controller->live,
	};
	unlock(controller);
	return stats;
}

uint64_t memory_controller_complete_since_ns(const struct memory_controller *controller)
{
	return controller->complete_since_ns;
}

/* ---- compression --------------------------------------------------------------------- */

const struct chunk *memory_controller_borrow(struct memory_controller *controller, void **token)
{
	struct chunk *chunk;

	lock(controller);
	chunk = chunk_domain_lend(&controller->domain);
	unlock(controller);
	if (chunk)
		*token = chunk;
	return chunk;
}

const struct chunk *memory_controller_wait_work(struct memory_controller *controller, void **token)
{
	struct chunk_domain *domain = &controller->domain;
	struct chunk *chunk;

	lock(controller);
	while ((chunk = chunk_domain_lend(domain)) == NULL && !domain->is_stopped)
		pthread_cond_wait(&domain->work, &domain->lock);
	unlock(controller);
	if (chunk)
		*token = chunk;
	return chunk;
}

void memory_controller_return(struct memory_controller *controller, void *token,
			      struct chunk *replacement)
{
	struct chunk *chunk = token;

	lock(controller);
	if (!chunk_domain_came_back(&controller->domain, chunk)) {
		chunk_destroy(replacement);
		replacement = NULL;
	}
	if (replacement)
		chunk_manager_limit_replace(chunk->loan.keeper, chunk, replacement);
	unlock(controller);
}

void memory_controller_stop(struct memory_controller *controller)
{
	lock(controller);
	controller->domain.is_stopped = true;
	pthread_cond_broadcast(&controller->domain.work);
	unlock(controller);
}

void memory_controller_pause(struct memory_controller *controller)
{
	struct chunk_domain *domain = &controller->domain;

	lock(controller);
	domain->paused++;
	while (domain->lent)
		pthread_cond_wait(&domain->came_back, &domain->lock);
	unlock(controller);
}

void memory_controller_resume(struct memory_controller *controller)
{
	lock(controller);
	assert(controller->domain.paused);
	controller->domain.paused--;
	pthread_cond_broadcast(&controller->domain.work);
	unlock(controller);
}

/* Nothing being borrowed is not enough: who asks for work has the lock for a moment, and would have it for ever in the child. */
pid_t memory_controller_fork(struct memory_controller *controller)
{
	pid_t child;
	int err;

	memory_controller_pause(controller);
	lock(controller);
	child = fork();
	err = errno;
	unlock(controller);
	if (child)
		memory_controller_resume(controller);
	errno = err;
	return child;
}
