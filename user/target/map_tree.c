/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map_tree.c - see map_tree.h.
 *
 * To put x in, the tree is split twice, by where mappings start: what starts before x, within it, and behind it. The one
 * that reaches into x from before is cut, and what it has behind x is one of its own. All nodes that this may copy lie on
 * the ways to both ends of x, so they are counted and made first: nothing fails halfway.
 */
#include "target/map_tree.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "target/object.h"

/* ---- nodes ---------------------------------------------------------------------- */

struct map_node *map_tree_share(struct map_node *node)
{
	if (node)
		node->refs++;
	return node;
}

void map_tree_drop(struct map_node *node)
{
	struct map_node *right;

	for (; node && !--node->refs; node = right) {
		right = node->right;
		map_tree_drop(node->left);
		map_tree_drop(node->below);
		free(node);
	}
}

/* Nodes that were made in advance, in a list by `right`. */
struct spares {
	struct map_node *first;
};

static void free_spares(struct spares *spares)
{
	struct map_node *node;

	while ((node = spares->first) != NULL) {
		spares->first = node->right;
		free(node);
	}
}

static int make_spares(struct spares *spares, size_t count)
{
	for (; count; count--) {
		struct map_node *node = malloc(sizeof(*node));

		if (!node) {
			free_spares(spares);
			return -ENOMEM;
		}
		node->right = spares->first;
		spares->first = node;
	}
	return 0;
}

static struct map_node *take(struct spares *spares)
{
	struct map_node *node = spares->first;

	spares->first = node->right;
	return node;
}

static uint32_t priority_of(const struct map_node *node, uint64_t sequence)
{
	uint64_t mixed = ((uint64_t)(uintptr_t)node + sequence) * 0x9e3779b97f4a7c15u;

	return (uint32_t)((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 44);
}

/* A part of the node's mapping, with what is below it, as a tree of its own. */
static struct map_node *make_part(struct spares *spares, const struct map_node *of, uint64_t start,
				  uint64_t end)
{
	struct map_node *part = take(spares);

	*part = (struct map_node){.mapping = of->mapping,
				  .sequence = of->sequence,
				  .below = map_tree_share(of->below),
				  .refs = 1,
				  .layers = of->layers};
	part->priority = priority_of(part, of->sequence);
	part->mapping.start = start;
	part->mapping.end = end;
	part->mapping.offset += start - of->mapping.start;
	return part;
}

/* The node itself if nothing else leads to it, else a copy in its place. */
static struct map_node *own(struct spares *spares, struct map_node *node)
{
	struct map_node *copy;

	if (node->refs == 1)
		return node;
	copy = take(spares);
	*copy = *node;
	copy->refs = 1;
	copy->round = 0;
	map_tree_share(copy->left);
	map_tree_share(copy->right);
	map_tree_share(copy->below);
	node->refs--;
	return copy;
}

/* ---- the treap -------------------------------------------------------------------- */

/* Those that start before `address`, and the others. */
static void split(struct spares *spares, struct map_node *node, uint64_t address,
		  struct map_node **before, struct map_node **behind)
{
	while (node) {
		node = own(spares, node);
		if (node->mapping.start < address) {
			*before = node;
			before = &node->right;
			node = node->right;
		} else {
			*behind = node;
			behind = &node->left;
			node = node->left;
		}
	}
	*before = *behind = NULL;
}

/* All of `left` is before all of `right`; of both, what is changed is owned. */
static struct map_node *join(struct map_node *left, struct map_node *right)
{
	struct map_node *root, **at = &root;

	while (left && right) {
		if (left->priority >= right->priority) {
			*at = left;
			at = &left->right;
			left = left->right;
		} else {
			*at = right;
			at = &right->left;
			right = right->left;
		}
	}
	*at = left ? left : right;
	return root;
}

static struct map_node *last_of(struct map_node *node)
{
	while (node && node->right)
		node = node->right;
	return node;
}

/* How many on the way to `address` are not this tree's alone. */
static size_t shared_on_way(const struct map_node *node, uint64_t address)
{
	bool is_shared = false;
	size_t count = 0;

	while (node) {
		is_shared = is_shared || node->refs > 1;
		count += is_shared;
		node = node->mapping.start < address ? node->right : node->left;
	}
	return count;
}

/* ---- reading -------------------------------------------------------------------- */

const struct mapping *map_tree_find(const struct map_node *node, uint64_t address, uint64_t time_ns)
{
	const struct mapping *later = NULL;

	while (node) {
		if (address < node->mapping.start) {
			node = node->left;
		} else if (address >= node->mapping.end) {
			node = node->right;
		} else if (node->mapping.from_ns <= time_ns) {
			return &node->mapping;
		} else {
			later = &node->mapping;
			node = node->below;
		}
	}
	return later;
}

/* Whether an address is the same place in the same file by both; memory of no file has no places. */
static bool is_same(const struct mapping *a, const struct mapping *b)
{
	return a->object == b->object && (a->object->kind == OBJECT_ANONYMOUS ||
					  a->offset - a->start == b->offset - b->start);
}

struct look {
	const struct mapping *like;
	struct map_range found;
	uint64_t seen_to; /* no address before has been without */
};

static void look_at(struct look *look, const struct map_node *node)
{
	const struct mapping *mapping = &node->mapping;

	look->found.count++;
	look->found.is_same = look->found.is_same && is_same(mapping, look->like);
	if (mapping->from_ns < look->found.earliest_ns)
		look->found.earliest_ns = mapping->from_ns;
	if (node->layers > look->found.layers)
		look->found.layers = node->layers;
	if (mapping->start <= look->seen_to)
		look->seen_to = mapping->end;
}

static void look_below(struct look *look, const struct map_node *node)
{
	while (node) {
		if (node->mapping.end <= look->like->start) {
			node = node->right;
		} else if (node->mapping.start >= look->like->end) {
			node = node->left;
		} else {
			look_below(look, node->left);
			look_at(look, node);
			node = node->right;
		}
	}
}

struct map_range map_tree_look(const struct map_node *root, const struct mapping *like)
{
	struct look look = {.like = like,
			    .found = {.earliest_ns = UINT64_MAX, .is_same = true},
			    .seen_to = like->start};

	look_below(&look, root);
	look.found.is_whole = look.seen_to >= like->end;
	return look.found;
}

uint64_t map_tree_round(void)
{
	static atomic_uint_fast64_t rounds;

	return atomic_fetch_add(&rounds, 1) + 1;
}

void map_tree_walk(struct map_node *node, const struct map_walk *walk)
{
	for (; node && node->round != walk->round; node = node->right) {
		node->round = walk->round;
		map_tree_walk(node->left, walk);
		if (walk->meet(walk->context, node))
			map_tree_walk(node->below, walk);
	}
}

/* ---- changing ----------------------------------------------------------------------- */

/* A tree that is taken apart around the range of a mapping. */
struct parts {
	struct map_node *before, *within, *behind;
};

static void take_apart(struct spares *spares, struct map_node *root, uint64_t start, uint64_t end,
		       struct parts *parts)
{
	struct map_node *rest;

	split(spares, root, start, &parts->before, &rest);
	split(spares, rest, end, &parts->within, &parts->behind);
}

/*
 * What reaches over the start or the end is cut there, so that all that is within is in the range, but for the last's
 * end. Returns how many nodes that made.
 */
static int cut(struct spares *spares, uint64_t start, uint64_t end, struct parts *parts)
{
	struct map_node *first = last_of(parts->before), *last = last_of(parts->within);
	struct map_node *part;
	int made = 0;

	if (first && first->mapping.end > start) {
		const uint64_t first_end = first->mapping.end;

		part = make_part(spares, first, start, first_end);
		first->mapping.end = start;
		parts->within = join(part, parts->within);
		last = last ? last : part;
		made++;
	}
	if (last && last->mapping.end > end) {
		part = make_part(spares, last, end, last->mapping.end);
		parts->behind = join(part, parts->behind);
		made++;
	}
	return made;
}

static int prepare(struct spares *spares, const struct map_node *root, uint64_t start, uint64_t end)
{
	/* What comes: the mapping, and the parts at both ends. */
	return make_spares(spares, shared_on_way(root, start) + shared_on_way(root, end) + 3);
}

int map_tree_overlay(struct map_node **root, const struct mapping *mapping, uint64_t sequence,
		     bool keeps, int64_t *made)
{
	const struct map_range was = map_tree_look(*root, mapping);
	struct spares spares = {NULL};
	struct map_node *node;
	struct parts parts;
	int err;

	err = prepare(&spares, *root, mapping->start, mapping->end);
	if (err)
		return err;
	take_apart(&spares, *root, mapping->start, mapping->end, &parts);
	*made += 1 + cut(&spares, mapping->start, mapping->end, &parts);
	node = take(&spares);
	*node = (struct map_node){
		.mapping = *mapping, .sequence = sequence, .refs = 1, .layers = 1};
	node->priority = priority_of(node, sequence);
	if (keeps) {
		node->below = parts.within;
		node->layers += was.layers;
	} else {
		map_tree_drop(parts.within);
		*made -= (int64_t)was.count;
	}
	*root = join(join(parts.before, node), parts.behind);
	free_spares(&spares);
	return 0;
}

int map_tree_remove(struct map_node **root, uint64_t start, uint64_t end)
{
	struct spares spares = {NULL};
	struct parts parts;
	int err;

	err = prepare(&spares, *root, start, end);
	if (err)
		return err;
	take_apart(&spares, *root, start, end, &parts);
	map_tree_drop(parts.within);
	*root = join(parts.before, parts.behind);
	free_spares(&spares);
	return 0;
}
