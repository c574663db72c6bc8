/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_cache.h - a number for each address that was asked for before: a hash table that only
 * grows. All zero is an empty one.
 */
#ifndef GECKOBPF_SYMBOL_ADDRESS_CACHE_H
#define GECKOBPF_SYMBOL_ADDRESS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_slot {
	uint64_t address;
	uint32_t value;
	uint32_t used;
};

struct address_cache {
	struct address_slot *slots;
	size_t slot_count; /* 0 or a power of two */
	size_t count;
};

void address_cache_free(struct address_cache *cache);

bool address_cache_get(const struct address_cache *cache, uint64_t address, uint32_t *value);

/* `address` must not be in it yet. 0, or -ENOMEM with nothing changed. */
int address_cache_put(struct address_cache *cache, uint64_t address, uint32_t value);

#endif
