/* SPDX-License-Identifier: BSD-2-Clause */
/* entry_cache.c - see entry_cache.h. */
#include "buffer/entry_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/entry.h"

int entry_cache_open(struct entry_cache **out, size_t bytes)
{
	struct entry_cache *cache = calloc(1, sizeof(*cache));
	size_t count = bytes / sizeof(*cache->sets);

	if (!cache)
		return -ENOMEM;
	if (count > UINT32_MAX)
		count = UINT32_MAX;
	cache->set_count = count ? (uint32_t)count : 1;
	cache->memory = calloc((size_t)cache->set_count + 1, sizeof(*cache->sets));
	cache->scratch = malloc(ENTRY_MAX_BYTES);
	if (!cache->memory || !cache->scratch) {
		entry_cache_close(cache);
		return -ENOMEM;
	}
	cache->sets = (void *)(((uintptr_t)cache->memory + sizeof(*cache->sets) - 1) &
			       ~(uintptr_t)(sizeof(*cache->sets) - 1));
	*out = cache;
	return 0;
}

void entry_cache_close(struct entry_cache *cache)
{
	if (!cache)
		return;
	free(cache->memory);
	free(cache->scratch);
	free(cache);
}

uint64_t entry_cache_begin(struct entry_cache *cache)
{
	if (++cache->epoch == ENTRY_CACHE_EPOCHS) {
		memset(cache->sets, 0, cache->set_count * sizeof(*cache->sets));
		cache->generation++;
		cache->epoch = 1;
	}
	return (uint64_t)cache->generation << 32 | cache->epoch;
}

void entry_cache_touch(struct entry_cache_set *set, size_t way)
{
	const struct entry_cache_item item = {set->key[way], set->tag[way], set->number[way],
					      set->link[way]};

	entry_cache_put_first(set, way, &item);
}
