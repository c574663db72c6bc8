/* SPDX-License-Identifier: BSD-2-Clause */
/* array.h - growable arrays: `items`, `count`, `capacity` side by side in any struct. */
#ifndef GECKOBPF_BASE_ARRAY_H
#define GECKOBPF_BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/*
 * Makes room for `need` items of `item_bytes` each at *items, which holds *capacity of them. Doubles, so that
 * appending is cheap. 0, or -ENOMEM with nothing changed. New memory is not zeroed.
 */
static inline int array_reserve(void **items, size_t *capacity, size_t need, size_t item_bytes)
{
	size_t grown = *capacity ? *capacity : 8;
	void *moved;

	if (need <= *capacity)
		return 0;
	while (grown < need) {
		if (grown > SIZE_MAX / 2)
			return -ENOMEM;
		grown *= 2;
	}
	if (grown > SIZE_MAX / item_bytes)
		return -ENOMEM;
	moved = realloc(*items, grown * item_bytes);
	if (!moved)
		return -ENOMEM;
	*items = moved;
	*capacity = grown;
	return 0;
}

/* Room for one more item in `a`, a pointer to a struct with items, count and capacity. */
#define ARRAY_ROOM(a)                                                                              \
	array_reserve((void **)&(a)->items, &(a)->capacity, (a)->count + 1, sizeof(*(a)->items))

#endif
