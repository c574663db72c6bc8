/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * id_map.h - a map from numbers of one kind to numbers of another.
 *
 * Numbers that follow each other lie side by side, since those that are asked for together were
 * made together.
 */
#ifndef GECKOBPF_BASE_ID_MAP_H
#define GECKOBPF_BASE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define ID_NONE UINT32_MAX

struct id_slot {
	uint32_t key; /* plus one; 0: free */
	uint32_t id;
};

/* Zero-initialised is empty. */
struct id_map {
	struct id_slot *slots;
	size_t slot_count; /* a power of two; more than four thirds of `count` */
	size_t count;
	uint32_t top; /* one more than the greatest key */
};

void id_map_clear(struct id_map *map);

/* Adds `key`, which is not ID_NONE and not in the map. 0, or -ENOMEM with nothing changed. */
int id_map_put(struct id_map *map, uint32_t key, uint32_t id);
/* The id of `key`; ID_NONE: it is not there. */
uint32_t id_map_get(const struct id_map *map, uint32_t key);

#endif
