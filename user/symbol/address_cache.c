/* SPDX-License-Identifier: BSD-2-Clause */
/* address_cache.c - see address_cache.h. Open addressing, at most half full. */
#include "symbol/address_cache.h"

#include <errno.h>
#include <stdlib.h>

/* The slot that has `address`, or the free one where it belongs. */
static struct address_slot *find_slot(struct address_slot *slots, size_t slot_count,
				      uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ULL;
	size_t i = (hash ^ hash >> 32) & (slot_count - 1);

	while (slots[i].used && slots[i].address != address)
		i = (i + 1) & (slot_count - 1);
	return &slots[i];
}

static int grow(struct address_cache *cache)
{
	size_t slot_count = cache->slot_count ? cache->slot_count * 2 : 64, i;
	struct address_slot *slots = calloc(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < cache->slot_count; i++) {
		const struct address_slot *old = &cache->slots[i];

		if (old->used)
			*find_slot(slots, slot_count, old->address) = *old;
	}
	free(cache->slots);
	cache->slots = slots;
	cache->slot_count = slot_count;
	return 0;
}

void address_cache_free(struct address_cache *cache)
{
	free(cache->slots);
	*cache = (struct address_cache){0};
}

bool address_cache_get(const struct address_cache *cache, uint64_t address, uint32_t *value)
{
	const struct address_slot *slot;

	if (!cache->slot_count)
		return false;
	slot = find_slot(cache->slots, cache->slot_count, address);
	if (!slot->used)
		return false;
	*value = slot->value;
	return true;
}

int address_cache_put(struct address_cache *cache, uint64_t address, uint32_t value)
{
	if (cache->count * 2 >= cache->slot_count && grow(cache))
		return -ENOMEM;
	*find_slot(cache->slots, cache->slot_count, address) =
		(struct address_slot){.address = address, .value = value, .used = 1};
	cache->count++;
	return 0;
}
