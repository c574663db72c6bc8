/* SPDX-License-Identifier: BSD-2-Clause */
/* u64_map.c - see u64_map.h. Linear probing from a multiplicative hash. */
#include "base/u64_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SLOTS_MIN 16

void u64_map_clear(struct u64_map *map)
{
	free(map->keys);
	free(map->values);
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

void u64_map_reset(struct u64_map *map)
{
	map->count = 0;
	if (map->slots)
		memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
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

/* The slot of `key`, or a free slot. */
static size_t find_slot(const struct u64_map *map, uint64_t key)
{
	size_t mask = map->slot_count - 1, slot = hash(key) & mask;

	while (map->slots[slot] && map->keys[map->slots[slot] - 1] != key)
		slot = (slot + 1) & mask;
	return slot;
}

/* The free slot where `key` belongs, which is not there. */
static size_t free_slot(const struct u64_map *map, uint64_t key)
{
	size_t mask = map->slot_count - 1, slot = hash(key) & mask;

	while (map->slots[slot])
		slot = (slot + 1) & mask;
	return slot;
}

/* Slots for all keys: `count` of them, a power of two. */
static int make_slots(struct u64_map *map, size_t count)
{
	uint32_t *slots = calloc(count, sizeof(*slots));
	size_t i;

	if (!slots)
		return -ENOMEM;
	free(map->slots);
	map->slots = slots;
	map->slot_count = count;
	for (i = 0; i < map->count; i++)
		slots[free_slot(map, map->keys[i])] = (uint32_t)i + 1;
	return 0;
}

static int grow_slots(struct u64_map *map)
{
	return make_slots(map, map->slot_count ? map->slot_count * 2 : SLOTS_MIN);
}

static int reserve_key(struct u64_map *map)
{
	if (map->count >= U64_MAP_NONE - 1)
		return -ENOMEM;
	return array_reserve((void **)&map->keys, &map->capacity, map->count + 1,
			     sizeof(*map->keys));
}

static int make_room(struct u64_map *map)
{
	if ((map->count + 1) * 2 > map->slot_count && grow_slots(map))
		return -ENOMEM;
	return reserve_key(map);
}

/* There is room for it. */
static void add(struct u64_map *map, uint64_t key)
{
	size_t slot = free_slot(map, key);

	map->keys[map->count++] = key;
	map->slots[slot] = (uint32_t)map->count;
}

uint32_t u64_map_get(const struct u64_map *map, uint64_t key)
{
	uint32_t found = map->slot_count ? map->slots[find_slot(map, key)] : 0;

	if (!found)
		return U64_MAP_NONE;
	return map->values ? map->values[found - 1] : found - 1;
}

int u64_map_add(struct u64_map *map, uint64_t key, uint32_t *number)
{
	if (make_room(map))
		return -ENOMEM;
	*number = (uint32_t)map->count;
	add(map, key);
	return 0;
}

int u64_map_number(struct u64_map *map, uint64_t key, uint32_t *number)
{
	uint32_t found = u64_map_get(map, key);

	if (found == U64_MAP_NONE)
		return u64_map_add(map, key, number);
	*number = found;
	return 0;
}

int u64_map_append(struct u64_map *map, uint64_t key, uint32_t *number)
{
	if (reserve_key(map))
		return -ENOMEM;
	*number = (uint32_t)map->count;
	map->keys[map->count++] = key;
	return 0;
}

int u64_map_index(struct u64_map *map)
{
	size_t count = SLOTS_MIN;

	while (count < (map->count + 1) * 2)
		count *= 2;
	return make_slots(map, count);
}

int u64_map_put(struct u64_map *map, uint64_t key, uint32_t value)
{
	if (make_room(map) || array_reserve((void **)&map->values, &map->value_capacity,
					    map->count + 1, sizeof(*map->values)))
		return -ENOMEM;
	map->values[map->count] = value;
	add(map, key);
	return 0;
}
