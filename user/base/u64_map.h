/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * u64_map.h - a number for each 64-bit key.
 *
 *   keys[]     in the order in which they were added: number 0, 1, 2, ...
 *   values[]   of those keys, if they are not just their numbers
 *   slots[]    open addressing: number + 1
 *
 * Keys are forgotten all at once. (Dense numbers by dense numbers are faster, and smaller, in an id_map.)
 */
#ifndef GECKOBPF_BASE_U64_MAP_H
#define GECKOBPF_BASE_U64_MAP_H

#include <stddef.h>
#include <stdint.h>

#define U64_MAP_NONE UINT32_MAX

/* Zero-initialised is empty. Others may read keys[0 .. count). */
struct u64_map {
	uint64_t *keys;
	size_t count, capacity;
	uint32_t *values; /* NULL: the value of a key is its number */
	size_t value_capacity;
	uint32_t *slots; /* 0: free */
	size_t slot_count; /* a power of two, at least twice `count` */
};

/* Frees its memory: it is empty. */
void u64_map_clear(struct u64_map *map);
/* Forgets all keys, keeps the memory. */
void u64_map_reset(struct u64_map *map);

/* The value of `key`; U64_MAP_NONE: it is not there. */
uint32_t u64_map_get(const struct u64_map *map, uint64_t key);

/*
 * A map is filled by one of these two. The first puts the number of `key` into *number, and adds
 * the key if it is new. The second gives a key that is not there a value, which is not
 * U64_MAP_NONE. 0, or -ENOMEM with nothing changed.
 */
int u64_map_number(struct u64_map *map, uint64_t key, uint32_t *number);
/* The first, for a key that is known not to be there. */
int u64_map_add(struct u64_map *map, uint64_t key, uint32_t *number);

/*
 * The same without a slot for the key, which is found only after u64_map_index(): for a map in which nothing is looked
 * up before.
 */
int u64_map_append(struct u64_map *map, uint64_t key, uint32_t *number);
/* Gives all keys slots. 0 or -ENOMEM: none has one. */
int u64_map_index(struct u64_map *map);
int u64_map_put(struct u64_map *map, uint64_t key, uint32_t value);

#endif
