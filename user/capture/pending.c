/* SPDX-License-Identifier: BSD-2-Clause */
/* pending.c - see pending.h. */
#include "capture/pending.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/types.h>

#include "base/array.h"
#include "geckobpf_abi.h"

struct pending_record {
	uint64_t time_ns;
	uint64_t order; /* of arrival */
	struct gb_record *record; /* owned */
};

void pending_clear(struct pending *pending)
{
	size_t i;

	for (i = 0; i < pending->count; i++)
		free(pending->items[i].record);
	free(pending->items);
	*pending = (struct pending){0};
}

static bool is_earlier(const struct pending_record *one, const struct pending_record *other)
{
	if (one->time_ns != other->time_ns)
		return one->time_ns < other->time_ns;
	return one->order < other->order;
}

/* The hole at `hole` goes up until `record` may fill it. */
static void rise(struct pending_record *items, size_t hole, struct pending_record record)
{
	while (hole && is_earlier(&record, &items[(hole - 1) / 2])) {
		items[hole] = items[(hole - 1) / 2];
		hole = (hole - 1) / 2;
	}
	items[hole] = record;
}

/* The hole at the top goes down, among `count` items, until `record` may fill it. */
static void sink(struct pending_record *items, size_t count, struct pending_record record)
{
	size_t hole = 0, child;

	while ((child = 2 * hole + 1) < count) {
		if (child + 1 < count && is_earlier(&items[child + 1], &items[child]))
			child++;
		if (!is_earlier(&items[child], &record))
			break;
		items[hole] = items[child];
		hole = child;
	}
	items[hole] = record;
}

int pending_put(struct pending *pending, const struct gb_record *record, size_t size)
{
	struct gb_record *copy = ARRAY_ROOM(pending) ? NULL : malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, size);
	rise(pending->items, pending->count++,
	     (struct pending_record){copy->time_ns, pending->put_count++, copy});
	return 0;
}

uint64_t pending_first_ns(const struct pending *pending)
{
	return pending->count ? pending->items[0].time_ns : UINT64_MAX;
}

struct gb_record *pending_take(struct pending *pending, uint64_t before_ns)
{
	struct gb_record *record;

	if (!pending->count || pending->items[0].time_ns >= before_ns)
		return NULL;
	record = pending->items[0].record;
	if (--pending->count)
		sink(pending->items, pending->count, pending->items[pending->count]);
	return record;
}
