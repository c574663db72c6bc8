/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_map.c - see stack_map.h. */
#include "gecko/stack_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PAGE_STACKS 512

struct stack_page {
	uint32_t epoch;
	uint32_t stacks[PAGE_STACKS];
};

void stack_map_clear(struct stack_map *map)
{
	size_t i;

	for (i = 0; i < map->count; i++)
		free(map->pages[i]);
	free(map->pages);
	memset(map, 0, sizeof(*map));
}

static int make_page(struct stack_map *map, size_t number)
{
	int err = array_reserve((void **)&map->pages, &map->capacity, number + 1,
				sizeof(*map->pages));

	if (err)
		return err;
	while (map->count <= number)
		map->pages[map->count++] = NULL;
	if (!map->pages[number])
		map->pages[number] = calloc(1, sizeof(*map->pages[number]));
	return map->pages[number] ? 0 : -ENOMEM;
}

int stack_map_put(struct stack_map *map, uint32_t node, bool is_leaf, uint32_t stack)
{
	size_t index = (size_t)node * 2 + is_leaf, number = index / PAGE_STACKS;
	struct stack_page *page;
	bool is_new = number >= map->count || !map->pages[number];
	int err = is_new ? make_page(map, number) : 0;

	if (err)
		return err;
	page = map->pages[number];
	if (is_new || page->epoch != map->epoch) {
		memset(page->stacks, 0xff, sizeof(page->stacks));
		page->epoch = map->epoch;
	}
	page->stacks[index % PAGE_STACKS] = stack;
	return 0;
}

uint32_t stack_map_get(const struct stack_map *map, uint32_t node, bool is_leaf)
{
	size_t index = (size_t)node * 2 + is_leaf, number = index / PAGE_STACKS;
	const struct stack_page *page = number < map->count ? map->pages[number] : NULL;

	return page && page->epoch == map->epoch ? page->stacks[index % PAGE_STACKS]
						 : STACK_MAP_NONE;
}
