/* SPDX-License-Identifier: BSD-2-Clause */
/* address_space.c - see address_space.h. */
#include "target/address_space.h"

#include "base/array.h"
#include "target/map_tree.h"

#include <string.h>

#define ERAS_MAX 8192 /* then the older half of what is past is forgotten */
_Static_assert(sizeof(struct map_node) <= MAPPING_BYTES - 8, "the allocator has 8 of them");

void address_space_clear(struct address_space *space)
{
	map_tree_drop(space->root);
	free(space->eras);
	*space = (struct address_space){0};
}

static int begin_era(struct address_space *space, uint64_t time_ns)
{
	int err;

	if (space->era_count && space->eras[space->era_count - 1] >= time_ns)
		return 0;
	if (space->era_count == ERAS_MAX)
		space->left_out += address_space_expire(space, space->eras[ERAS_MAX / 2]);
	err = array_reserve((void **)&space->eras, &space->era_capacity, space->era_count + 1,
			    sizeof(*space->eras));
	if (err)
		return err;
	space->eras[space->era_count++] = time_ns;
	return 0;
}

static int overlay(struct address_space *space, const struct mapping *mapping, bool keeps)
{
	int64_t made = 0;
	int err = map_tree_overlay(&space->root, mapping, space->sequence + 1, keeps, &made);

	if (err)
		return err;
	if (!space->sequence++)
		space->program = mapping->object;
	space->count += (size_t)made;
	space->nodes += (size_t)made;
	space->last_ns = mapping->from_ns;
	return 0;
}

/* What it covers is kept below it, but not for ever. */
static int replace(struct address_space *space, const struct mapping *mapping,
		   const struct map_range *was)
{
	const bool keeps = mapping->from_ns && was->layers < MAP_LAYERS_MAX;
	int err = mapping->from_ns ? begin_era(space, mapping->from_ns) : 0;

	if (!err)
		err = overlay(space, mapping, keeps);
	if (!err && mapping->from_ns && !keeps)
		space->left_out += was->count + was->layers - 1;
	return err;
}

int address_space_add(struct address_space *space, const struct mapping *mapping)
{
	const struct map_range was = map_tree_look(space->root, mapping);
	struct mapping added = *mapping;

	if (was.is_same && was.is_whole)
		return 0;
	if (added.from_ns < space->last_ns)
		added.from_ns = space->last_ns;
	/* More of what was there, or where nothing was: no address is other code than before. */
	if (was.is_same && was.layers <= 1)
		return overlay(space, &added, false);
	return replace(space, &added, &was);
}

int address_space_inherit(struct address_space *space, const struct address_space *from,
			  uint64_t time_ns)
{
	struct mapping_list list = {0};
	size_t i;
	int err;

	if (space == from) /* a record may say that a process is its own parent */
		return 0;
	if (!space->root && from->last_ns <= time_ns) {
		*space = (struct address_space){
			.root = map_tree_share(from->root),
			.program = from->program,
			.count = from->count,
			.sequence = from->sequence,
			.last_ns = from->last_ns,
			.since_ns = time_ns,
			.has_parents_past = from->era_count || from->has_parents_past,
		};
		return 0;
	}
	err = address_space_list(from, 0, &list);
	for (i = 0; i < list.count && !err; i++) {
		struct mapping mapping = list.items[i].mapping;

		if (mapping.from_ns > time_ns)
			break;
		mapping.from_ns = 0;
		err = address_space_add(space, &mapping);
	}
	free(list.items);
	return err;
}

/* ---- reading ------------------------------------------------------------------------ */

const struct mapping *address_space_find(const struct address_space *space, uint64_t address,
					 uint64_t time_ns)
{
	return map_tree_find(space->root, address, time_ns);
}

uint64_t address_space_era_end(const struct address_space *space, uint64_t time_ns)
{
	size_t low = 0, high = space->era_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->eras[middle] > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low < space->era_count ? space->eras[low] : UINT64_MAX;
}

static int visit_now(const struct map_node *node,
		     int (*visit)(void *context, const struct mapping *mapping), void *context)
{
	int err = 0;

	for (; node && !err; node = node->right) {
		err = visit_now(node->left, visit, context);
		if (!err)
			err = visit(context, &node->mapping);
	}
	return err;
}

int address_space_now(const struct address_space *space,
		      int (*visit)(void *context, const struct mapping *mapping), void *context)
{
	return visit_now(space->root, visit, context);
}

uint64_t address_space_round(void)
{
	return map_tree_round();
}

struct visit {
	void (*visit)(void *context, const struct mapping *mapping);
	void *context;
	size_t count;
};

static bool visit_node(void *context, struct map_node *node)
{
	struct visit *visit = context;

	visit->visit(visit->context, &node->mapping);
	visit->count++;
	return true;
}

void address_space_visit(struct address_space *space, uint64_t round,
			 void (*visit)(void *context, const struct mapping *mapping), void *context)
{
	struct visit all = {.visit = visit, .context = context};

	map_tree_walk(space->root, &(struct map_walk){round, visit_node, &all});
	space->nodes = all.count;
}

size_t address_space_bytes(const struct address_space *space)
{
	return space->nodes * MAPPING_BYTES + space->era_capacity * sizeof(*space->eras);
}

/* ---- listing -------------------------------------------------------------------- */

struct listing {
	struct mapping_list *out;
	uint64_t after, since_ns;
	int err;
};

static bool list_node(void *context, struct map_node *node)
{
	struct listing *listing = context;
	struct mapping_list *out = listing->out;
	const bool is_inherited = listing->since_ns && node->mapping.from_ns <= listing->since_ns;

	if (node->sequence <= listing->after || listing->err)
		return false; /* what is below is older still */
	listing->err = ARRAY_ROOM(out);
	if (listing->err)
		return false;
	out->items[out->count] = (struct listed_mapping){node->mapping, node->sequence};
	if (is_inherited)
		out->items[out->count].mapping.from_ns = 0;
	out->count++;
	return !is_inherited;
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed_mapping *left = a, *right = b;

	if (left->sequence != right->sequence)
		return left->sequence < right->sequence ? -1 : 1;
	return left->mapping.start < right->mapping.start ? -1 : 1;
}

/* Parts of one mapping that are next to each other, or overlap, are one again. */
static void join_parts(struct mapping_list *list)
{
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++) {
		struct listed_mapping *last = kept ? &list->items[kept - 1] : NULL;
		const struct listed_mapping *next = &list->items[i];

		if (!last || last->sequence != next->sequence ||
		    last->mapping.end < next->mapping.start)
			list->items[kept++] = *next;
		else if (last->mapping.end < next->mapping.end)
			last->mapping.end = next->mapping.end;
	}
	list->count = kept;
}

static int list_in_order(const struct address_space *space, uint64_t after,
			 struct mapping_list *out)
{
	struct listing listing = {.out = out, .after = after, .since_ns = space->since_ns};

	out->count = 0;
	map_tree_walk(space->root, &(struct map_walk){map_tree_round(), list_node, &listing});
	if (!listing.err && out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_listed);
	return listing.err;
}

int address_space_list(const struct address_space *space, uint64_t after, struct mapping_list *out)
{
	int err = after < space->sequence ? list_in_order(space, after, out) : 0;

	if (!err)
		join_parts(out);
	return err;
}

/* ---- forgetting ----------------------------------------------------------------- */

static void drop_eras(struct address_space *space, uint64_t horizon_ns)
{
	size_t past = 0;

	while (past < space->era_count && space->eras[past] <= horizon_ns)
		past++;
	if (!past)
		return;
	space->era_count -= past;
	memmove(space->eras, space->eras + past, space->era_count * sizeof(*space->eras));
}

struct forgetting {
	uint64_t horizon_ns;
	uint32_t layers; /* that any node can still have: each began an era */
	size_t left;
};

static bool forget_below(void *context, struct map_node *node)
{
	struct forgetting *forgetting = context;

	if (node->mapping.from_ns <= forgetting->horizon_ns) {
		map_tree_drop(node->below);
		node->below = NULL;
		node->layers = 1;
	} else if (node->layers > forgetting->layers) {
		node->layers = forgetting->layers & ((1u << 12) - 1);
	}
	forgetting->left++;
	return true;
}

static size_t forget_past(struct address_space *space, uint64_t horizon_ns)
{
	struct forgetting forgetting = {.horizon_ns = horizon_ns, .layers = UINT32_MAX};
	const size_t before = space->count;

	drop_eras(space, horizon_ns);
	if (horizon_ns >= space->since_ns)
		space->has_parents_past = false;
	if (!space->has_parents_past)
		forgetting.layers = 1 + (uint32_t)space->era_count;
	map_tree_walk(space->root, &(struct map_walk){map_tree_round(), forget_below, &forgetting});
	space->count = forgetting.left;
	space->nodes = space->nodes < space->count ? space->nodes : space->count;
	return before > space->count ? before - space->count : 0;
}

size_t address_space_expire(struct address_space *space, uint64_t horizon_ns)
{
	const bool is_due = space->era_count && space->eras[0] <= horizon_ns;

	if (!is_due && !(space->has_parents_past && space->since_ns <= horizon_ns))
		return 0; /* nothing was replaced */
	return forget_past(space, horizon_ns);
}

/* Takes out the mappings [from, to) of a list. 0 or -ENOMEM. */
static int take_out(struct address_space *space, const struct mapping_list *list, size_t from,
		    size_t to)
{
	int err = 0;

	for (; from < to && !err; from++) {
		const struct mapping *mapping = &list->items[from].mapping;

		err = map_tree_remove(&space->root, mapping->start, mapping->end);
		space->count -= !err;
		space->left_out += !err;
	}
	return err;
}

int address_space_limit(struct address_space *space, size_t most)
{
	struct mapping_list list = {0};
	int err;

	if (space->count <= most)
		return 0;
	space->left_out += forget_past(space, UINT64_MAX);
	if (space->count <= most - most / 4)
		return 0;
	/* a quarter of the room is made at once, so that it costs little for each that is added */
	err = list_in_order(space, 0, &list);
	if (!err)
		err = take_out(space, &list, most / 8, most / 8 + list.count - (most - most / 4));
	free(list.items);
	if (space->nodes > space->count)
		space->nodes = space->count;
	return err;
}
