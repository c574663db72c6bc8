/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping_set.c - see mapping_set.h. Room for both items that one may become is made first, so that nothing fails
 * halfway.
 */
#include "capture/mapping_set.h"

#include "base/array.h"

#include <string.h>

void mapping_set_clear(struct mapping_set *set)
{
	free(set->items);
	*set = (struct mapping_set){0};
}

static size_t first_ending_after(const struct mapping_set *set, uint64_t address)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (set->items[middle].mapping.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts `item` at `at`, in place of `drop` others. There is room for it. */
static void splice(struct mapping_set *set, size_t at, size_t drop, const struct live_mapping *item)
{
	memmove(&set->items[at + 1], &set->items[at + drop],
		(set->count - at - drop) * sizeof(*set->items));
	set->items[at] = *item;
	set->count = set->count + 1 - drop;
}

/*
 * Cuts the first mapping that reaches into [begin, end), if it begins before; within a longer one, two ends are left of
 * it. Returns where the new one is to be.
 */
static size_t cut_first(struct mapping_set *set, uint64_t begin, uint64_t end,
			const struct mapping_counter *counter)
{
	size_t at = first_ending_after(set, begin);
	struct live_mapping rest;

	if (at == set->count || set->items[at].mapping.begin >= begin)
		return at;
	rest = set->items[at];
	set->items[at].mapping.end = begin;
	if (rest.mapping.end > end) {
		rest.mapping.begin = end;
		splice(set, at + 1, 0, &rest);
		counter->count(counter->context, rest.object, 1);
	}
	return at + 1;
}

int mapping_set_overlay(struct mapping_set *set, const struct live_mapping *item,
			const struct mapping_counter *counter)
{
	uint64_t end = item->mapping.end;
	size_t at, behind;
	int err;

	err = array_reserve((void **)&set->items, &set->capacity, set->count + 2,
			    sizeof(*set->items));
	if (err)
		return err;
	at = cut_first(set, item->mapping.begin, end, counter);
	for (behind = at; behind < set->count && set->items[behind].mapping.end <= end; behind++)
		counter->count(counter->context, set->items[behind].object, -1);
	if (behind < set->count && set->items[behind].mapping.begin < end)
		set->items[behind].mapping.begin = end;
	splice(set, at, behind - at, item);
	counter->count(counter->context, item->object, 1);
	return 0;
}
