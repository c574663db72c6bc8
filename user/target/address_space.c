/* SPDX-License-Identifier: BSD-2-Clause */
/* address_space.c - see address_space.h. Searches are linear from the newest: they run once per distinct address. */
#include "target/address_space.h"
#include "base/array.h"

#include <stdbool.h>

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
