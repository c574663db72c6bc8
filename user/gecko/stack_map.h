/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_map.h - a thread's stack number for each node that it has met, as leaf or as caller.
 *
 * Node numbers belong to the process; a thread meets few of them. So the array is in pages, made
 * when first written to:
 *
 *   index = node * 2 + is_leaf      pages[index / 512] -> { epoch, stack[index % 512] }
 *
 * A page of an older epoch is empty.
 */
#ifndef GECKOBPF_GECKO_STACK_MAP_H
#define GECKOBPF_GECKO_STACK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_MAP_NONE UINT32_MAX

struct stack_page;

/* Zero-initialised is empty, in epoch 0. */
struct stack_map {
	struct stack_page **pages;
	size_t count, capacity;
	uint32_t epoch; /* set by the user: the one of what is put and got */
};

void stack_map_clear(struct stack_map *map);

/* 0 or -ENOMEM. */
int stack_map_put(struct stack_map *map, uint32_t node, bool is_leaf, uint32_t stack);

/* STACK_MAP_NONE: nothing was put. */
uint32_t stack_map_get(const struct stack_map *map, uint32_t node, bool is_leaf);

#endif
