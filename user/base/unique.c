/* SPDX-License-Identifier: BSD-2-Clause */
/* unique.c - linear probing from a multiplicative hash; at most half of the slots are taken. */
#include "base/unique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SLOTS_MIN 16

void unique_clear(struct unique_table *table)
{
	free(table->keys);
	free(table->slots);
	memset(table, 0, sizeof(*table));
}

void unique_reset(struct unique_table *table)
{
	table->count = 0;
	if (table->slots)
		memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
}

/*
 * Keys are small numbers side by side, also in their upper half: the product's upper bits depend
 * on all of them.
 */
static size_t hash(uint64_t key)
{
	key ^= key >> 32;
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 29);
}

/* The slot of `key`, or the free slot where it belongs. */
static size_t find_slot(const struct unique_table *table, uint64_t key)
{
	size_t mask = table->slot_count - 1, slot = hash(key) & mask;

	while (table->slots[slot] && table->keys[table->slots[slot] - 1] != key)
		slot = (slot + 1) & mask;
	return slot;
}

static int grow_slots(struct unique_table *table)
{
	size_t count = table->slot_count ? table->slot_count * 2 : SLOTS_MIN, i;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_count = count;
	for (i = 0; i < table->count; i++)
		slots[find_slot(table, table->keys[i])] = (uint32_t)i + 1;
	return 0;
}

static int make_room(struct unique_table *table)
{
	if (table->count >= UNIQUE_NONE - 1)
		return -ENOMEM;
	if ((table->count + 1) * 2 > table->slot_count && grow_slots(table))
		return -ENOMEM;
	return array_reserve((void **)&table->keys, &table->capacity, table->count + 1,
			     sizeof(*table->keys));
}

bool unique_find(const struct unique_table *table, uint64_t key, uint32_t *id)
{
	size_t slot;

	if (!table->slot_count)
		return false;
	slot = find_slot(table, key);
	if (!table->slots[slot])
		return false;
	*id = table->slots[slot] - 1;
	return true;
}

int unique_add(struct unique_table *table, uint64_t key, uint32_t *id)
{
	size_t slot;

	if (unique_find(table, key, id))
		return 0;
	if (make_room(table))
		return -ENOMEM;
	slot = find_slot(table, key);
	table->keys[table->count] = key;
	*id = (uint32_t)table->count++;
	table->slots[slot] = *id + 1;
	return 0;
}
