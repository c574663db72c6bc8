/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unique.h - each distinct 64-bit key gets a dense number, 0, 1, 2, ... in order of first use.
 */
#ifndef GECKOBPF_BASE_UNIQUE_H
#define GECKOBPF_BASE_UNIQUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIQUE_NONE UINT32_MAX

/* Zero-initialised is empty. keys[0 .. count) are the keys in the order of their numbers. */
struct unique_table {
	uint64_t *keys;
	size_t count, capacity;
	uint32_t *slots; /* open addressing: number + 1, or 0 for a free slot */
	size_t slot_count; /* a power of two, more than twice `count` */
};

void unique_clear(struct unique_table *table);

/* Forgets all keys, keeps the memory. */
void unique_reset(struct unique_table *table);

/* Puts the number of `key` into *id. 0, or -ENOMEM with nothing changed. */
int unique_add(struct unique_table *table, uint64_t key, uint32_t *id);

/* Whether `key` is there; *id is its number then. */
bool unique_find(const struct unique_table *table, uint64_t key, uint32_t *id);

#endif
