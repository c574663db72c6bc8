/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map_tree.h - mappings sorted by address, nothing overlaps; below each is what was there before it.
 *
 *   now       [─ a ─)[──── x ────)[── c ──)
 *   below x          [a ─)   [─ c)              a tree like that of now; and so on
 *
 * A tree is a treap whose nodes are counted, so address spaces share them: a node that more than one leads to is copied
 * before it is changed, with those on the way to it. Heights are those of a random order, which nobody can choose, for
 * they come from where nodes lie in memory.
 */
#ifndef GECKOBPF_TARGET_MAP_TREE_H
#define GECKOBPF_TARGET_MAP_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/address_space.h"

/* So many mappings are remembered one below the other. */
#define MAP_LAYERS_MAX 512u

struct map_node {
	struct mapping mapping;
	uint64_t sequence; /* of the mapping in its address space; parts of one have the same */
	struct map_node *left, *right;
	/* What was in its range before; it may be longer than the range. */
	struct map_node *below;
	uint64_t round; /* of the walk that met it last */
	uint32_t refs;
	uint32_t priority : 20, layers : 12; /* how many are below each other, this one included */
};

/* The node, with one more or one less that leads to it. NULL is fine. */
struct map_node *map_tree_share(struct map_node *node);
void map_tree_drop(struct map_node *node);

const struct mapping *map_tree_find(const struct map_node *root, uint64_t address,
				    uint64_t time_ns);

/* What a range of addresses holds. */
struct map_range {
	size_t count; /* mappings that reach into it */
	uint64_t earliest_ns; /* of them */
	uint32_t layers; /* the most of any of them */
	bool is_whole; /* no address of it is without */
	bool is_same; /* each address of it that has a mapping is where `like` would have it */
};

struct map_range map_tree_look(const struct map_node *root, const struct mapping *like);

/*
 * Adds a mapping in place of all that it covers. What was covered is below it if `keeps`, else it is gone. Adds to *made
 * how many nodes there are more; it may be less than none. 0, or -ENOMEM with nothing changed.
 */
int map_tree_overlay(struct map_node **root, const struct mapping *mapping, uint64_t sequence,
		     bool keeps, int64_t *made);

/* Takes out what is mapped in [start, end), which nothing reaches into that is longer. 0 or -ENOMEM. */
int map_tree_remove(struct map_node **root, uint64_t start, uint64_t end);

/* A number for map_tree_walk(), greater than any before. */
uint64_t map_tree_round(void);

struct map_walk {
	uint64_t
		round; /* nodes that were met in this round are not met again, nor what they lead to */
	/* Whether it wants to meet what is below, too. */
	bool (*meet)(void *context, struct map_node *node);
	void *context;
};

/* In ascending order, but for what is below: that comes after what is above it. */
void map_tree_walk(struct map_node *root, const struct map_walk *walk);

#endif
