/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_update.c - the fold of updates. */
#include "buffer/chunk_update.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "buffer/chunk.h"

int chunk_update_reserve(struct chunk_update *update, size_t count)
{
	return array_reserve((void **)&update->items, &update->capacity, count,
			     sizeof(*update->items));
}

int chunk_update_from_chunks(struct chunk_update *out, uint64_t unreleased_bytes,
			     uint64_t released_bytes, const struct chunk *released,
			     const struct chunk *newly)
{
	struct chunk_update update = {
		.kind = CHUNK_UPDATE_STATE,
		.unreleased_bytes = unreleased_bytes,
		.released_bytes = released_bytes,
		.oldest_done_ns = released ? released->header.done_ns : 0,
	};

	for (; newly; newly = newly->next) {
		int err = chunk_update_reserve(&update, update.count + 1);

		if (err) {
			chunk_update_clear(&update);
			return err;
		}
		update.items[update.count++] = (struct released_chunk){
			newly->header.done_ns,
			newly->header.stored_bytes,
		};
	}
	*out = update;
	return 0;
}

int chunk_update_copy(struct chunk_update *out, const struct chunk_update *from)
{
	struct chunk_update copy = {0};
	int err = from->count ? chunk_update_reserve(&copy, from->count) : 0;

	if (err)
		return err;
	chunk_update_fold(&copy, from);
	*out = copy;
	return 0;
}

static void append(struct chunk_update *sum, const struct released_chunk *item)
{
	struct released_chunk *last;

	if (!chunk_update_reserve(sum, sum->count + 1)) {
		sum->items[sum->count++] = *item;
		return;
	}
	if (!sum->count)
		return;
	last = &sum->items[sum->count - 1];
	last->bytes += item->bytes;
	if (last->done_ns < item->done_ns)
		last->done_ns = item->done_ns;
}

/* Released chunks that were done before `oldest_ns` are gone. */
static void drop_older(struct chunk_update *sum, uint64_t oldest_ns)
{
	size_t from, to = 0;

	for (from = 0; from < sum->count; from++) {
		if (sum->items[from].done_ns >= oldest_ns)
			sum->items[to++] = sum->items[from];
	}
	sum->count = to;
}

/* What the update before said no longer counts, but its memory is kept. */
static void begin_anew(struct chunk_update *sum, enum chunk_update_kind kind)
{
	assert(sum->capacity || !sum->items);
	*sum = (struct chunk_update){
		.kind = kind,
		.items = sum->items,
		.capacity = sum->capacity,
	};
}

void chunk_update_fold(struct chunk_update *sum, const struct chunk_update *next)
{
	size_t i;

	assert(sum->kind != CHUNK_UPDATE_FINAL || next->kind == CHUNK_UPDATE_FINAL);
	if (next->kind == CHUNK_UPDATE_NONE)
		return;
	if (sum->kind == CHUNK_UPDATE_NONE || next->kind == CHUNK_UPDATE_FINAL)
		begin_anew(sum, next->kind);
	sum->unreleased_bytes = next->unreleased_bytes;
	sum->released_bytes = next->released_bytes;
	if (next->oldest_done_ns) {
		sum->oldest_done_ns = next->oldest_done_ns;
		drop_older(sum, next->oldest_done_ns);
	} else if (!next->released_bytes) {
		sum->oldest_done_ns = 0;
		sum->count = 0;
	}
	for (i = 0; i < next->count; i++)
		append(sum, &next->items[i]);
}

void chunk_update_clear(struct chunk_update *update)
{
	if (update->capacity)
		free(update->items);
	*update = (struct chunk_update){0};
}
