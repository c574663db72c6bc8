/* SPDX-License-Identifier: BSD-2-Clause */
/* address_space.c - see address_space.h. Searches are linear from the newest: they run once per distinct address. */
#include "target/address_space.h"
#include "base/array.h"

#include <stdbool.h>
#include <string.h>

void address_space_clear(struct address_space *space)
{
	free(space->items);
	free(space->eras);
	*space = (struct address_space){0};
}

static bool overlaps(const struct mapping *a, const struct mapping *b)
{
	return a->start < b->end && b->start < a->end;
}

static bool same_place(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->object == b->object;
}

/* The newest mapping that shares addresses with `mapping`, or NULL. */
static const struct mapping *newest_overlap(const struct address_space *space,
					    const struct mapping *mapping)
{
	size_t i;

	for (i = space->count; i-- > 0;)
		if (overlaps(&space->items[i], mapping))
			return &space->items[i];
	return NULL;
}

static int begin_era(struct address_space *space, uint64_t time_ns)
{
	int err;

	if (space->era_count && space->eras[space->era_count - 1] >= time_ns)
		return 0;
	err = array_reserve((void **)&space->eras, &space->era_capacity, space->era_count + 1,
			    sizeof(*space->eras));
	if (err)
		return err;
	space->eras[space->era_count++] = time_ns;
	return 0;
}

int address_space_add(struct address_space *space, const struct mapping *mapping)
{
	const struct mapping *known = newest_overlap(space, mapping);
	struct mapping added = *mapping;
	int err;

	if (known && same_place(known, mapping))
		return 0;
	if (space->count && space->items[space->count - 1].from_ns > added.from_ns)
		added.from_ns = space->items[space->count - 1].from_ns;
	err = ARRAY_ROOM(space);
	if (!err && known && added.from_ns)
		err = begin_era(space, added.from_ns);
	if (err)
		return err;
	space->items[space->count++] = added;
	return 0;
}

int address_space_inherit(struct address_space *space, const struct address_space *from,
			  uint64_t time_ns)
{
	size_t count = from->count, i; /* a record may say that a process is its own parent */
	int err;

	for (i = 0; i < count && from->items[i].from_ns <= time_ns; i++) {
		struct mapping mapping = from->items[i];

		mapping.from_ns = 0;
		err = address_space_add(space, &mapping);
		if (err)
			return err;
	}
	return 0;
}

const struct mapping *address_space_find(const struct address_space *space, uint64_t address,
					 uint64_t time_ns)
{
	const struct mapping *later = NULL;
	size_t i;

	for (i = space->count; i-- > 0;) {
		const struct mapping *mapping = &space->items[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		if (mapping->from_ns <= time_ns)
			return mapping;
		later = mapping;
	}
	return later;
}

uint64_t address_space_era_end(const struct address_space *space, uint64_t time_ns)
{
	size_t i;

	for (i = 0; i < space->era_count; i++)
		if (space->eras[i] > time_ns)
			return space->eras[i];
	return UINT64_MAX;
}

/* ---- dropping ----------------------------------------------------------------- */

/* Addresses [start, end). */
struct range {
	uint64_t start, end;
};

/* Ranges in ascending order, with addresses between them. */
struct ranges {
	struct range *items;
	size_t count, capacity;
};

/* The first range that ends at `address` or later. */
static size_t first_reaching(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].end < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds a range, joined with those that it touches; *was_in: all of it was there. 0 or -ENOMEM. */
static int cover(struct ranges *ranges, struct range added, bool *was_in)
{
	size_t at = first_reaching(ranges, added.start), behind = at;
	struct range *items;

	*was_in = at < ranges->count && ranges->items[at].start <= added.start &&
		  ranges->items[at].end >= added.end;
	if (*was_in)
		return 0;
	if (ARRAY_ROOM(ranges))
		return -ENOMEM;
	items = ranges->items;
	for (; behind < ranges->count && items[behind].start <= added.end; behind++) {
		added.start = items[behind].start < added.start ? items[behind].start : added.start;
		added.end = items[behind].end > added.end ? items[behind].end : added.end;
	}
	memmove(items + at + 1, items + behind, (ranges->count - behind) * sizeof(*items));
	items[at] = added;
	ranges->count = ranges->count + 1 - (behind - at);
	return 0;
}

static void drop_eras(struct address_space *space, uint64_t horizon_ns)
{
	size_t past = 0;

	while (past < space->era_count && space->eras[past] <= horizon_ns)
		past++;
	if (!past)
		return;
	space->era_count -= past;
	memmove(space->eras, space->eras + past, space->era_count * sizeof(*space->eras));
}

size_t address_space_expire(struct address_space *space, uint64_t horizon_ns,
			    void (*dropped)(void *context, size_t index), void *context)
{
	struct ranges newer = {0};
	size_t i = space->count, kept, before = space->count;
	bool is_covered;

	if (!space->era_count || space->eras[0] > horizon_ns)
		return 0; /* nothing was replaced */
	while (i && space->items[i - 1].from_ns > horizon_ns)
		i--;
	/* What stays moves up, against those that may still be later than the horizon; then all move down. */
	for (kept = i; i-- > 0;) {
		const struct mapping *mapping = &space->items[i];

		if (cover(&newer, (struct range){mapping->start, mapping->end}, &is_covered))
			break;
		if (!is_covered) {
			space->items[--kept] = *mapping;
			continue;
		}
		space->archived -= i < space->archived;
		if (dropped)
			dropped(context, i);
	}
	i++; /* mappings below were not looked at */
	if (!i)
		drop_eras(space, horizon_ns);
	memmove(space->items + i, space->items + kept, (before - kept) * sizeof(*space->items));
	space->count = before - (kept - i);
	free(newer.items);
	return before - space->count;
}

size_t address_space_bytes(const struct address_space *space)
{
	return space->capacity * sizeof(*space->items) + space->era_capacity * sizeof(*space->eras);
}
