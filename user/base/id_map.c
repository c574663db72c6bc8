/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * id_map.c - open addressing. The hash spreads groups of keys; within a group they stay in order. A key whose slot is
 * taken goes on past the group, and not at the same place, so that two groups that meet do not fill slots one by one.
 */
#include "base/id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64
#define GROUP_BITS 3
#define GROUP_MASK ((1U << GROUP_BITS) - 1)
#define STEP ((1U << GROUP_BITS) + 1) /* odd: it comes to all slots */

void id_map_clear(struct id_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

/* The slot of `key`, or the free one where it belongs. */
static size_t find_slot(const struct id_map *map, uint32_t key)
{
	uint64_t group = (uint64_t)(key >> GROUP_BITS) * 0x9e3779b97f4a7c15ULL >> 32;
	size_t mask = map->slot_count - 1, slot = (group << GROUP_BITS | (key & GROUP_MASK)) & mask;

	while (map->slots[slot].key && map->slots[slot].key != key + 1)
		slot = (slot + STEP) & mask;
	return slot;
}

static int grow(struct id_map *map)
{
	struct id_map larger = {.slot_count = map->slot_count ? map->slot_count * 2 : SLOTS_MIN,
				.count = map->count,
				.top = map->top};
	size_t i;

	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (i = 0; i < map->slot_count; i++)
		if (map->slots[i].key)
			larger.slots[find_slot(&larger, map->slots[i].key - 1)] = map->slots[i];
	free(map->slots);
	*map = larger;
	return 0;
}

int id_map_put(struct id_map *map, uint32_t key, uint32_t id)
{
	if ((map->count + 1) * 4 > map->slot_count * 3 && grow(map))
		return -ENOMEM;
	map->slots[find_slot(map, key)] = (struct id_slot){key + 1, id};
	map->count++;
	if (map->top <= key)
		map->top = key + 1;
	return 0;
}

uint32_t id_map_get(const struct id_map *map, uint32_t key)
{
	const struct id_slot *slot;

	if (key >= map->top)
		return ID_NONE;
	slot = &map->slots[find_slot(map, key)];
	return slot->key ? slot->id : ID_NONE;
}
