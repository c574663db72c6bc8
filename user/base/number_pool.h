/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * number_pool.h - small numbers for things that come and go: 0, 1, 2, ..., and those given back first.
 *
 * No two things that are there at once have the same number, and no number is larger than the most
 * things that were there at once; so it can be an index.
 */
#ifndef GECKOBPF_BASE_NUMBER_POOL_H
#define GECKOBPF_BASE_NUMBER_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* Zero-initialised is empty. */
struct number_pool {
	uint32_t *items; /* given back */
	size_t count, capacity;
	uint32_t top; /* numbers below were given out */
};

static inline void number_pool_clear(struct number_pool *pool)
{
	free(pool->items);
	*pool = (struct number_pool){0};
}

static inline uint32_t number_pool_take(struct number_pool *pool)
{
	return pool->count ? pool->items[--pool->count] : pool->top++;
}

/* Never fails: without memory to remember it, the number is not used again, which costs a place in an array. */
static inline void number_pool_give(struct number_pool *pool, uint32_t number)
{
	if (number + 1 == pool->top)
		pool->top--;
	else if (!ARRAY_ROOM(pool))
		pool->items[pool->count++] = number;
}

#endif
