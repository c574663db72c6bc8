/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks.c - see stacks.h.
 *
 * Most samples are at a leaf that was met before: its node knows its stack. Otherwise the walk goes up to the first
 * node that has one, and comes back down adding stacks, so that a prefix has a smaller number than what it is a prefix
 * of.
 */
#include "profile/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "buffer/profile_buffer.h"
#include "base/u64_map.h"

#define STACKS_MAX (1U << 18)
#define SLOT_BYTES_MAX (20U << 20)

/* Where a node's frame is in a stack. */
enum place {
	CALLER,
	LEAF,
	BELOW_KERNEL, /* the kernel interrupted it */
	PLACES
};

#define PLACE_BITS 2

struct node {
	struct frame frame;
	uint32_t prefix; /* STACK_NODE_NONE: a root */
	uint32_t depth; /* of frames, itself included */
	uint32_t era; /* that its stacks are of */
	uint32_t stacks[PLACES];
	uint32_t samples; /* of its chunk: whose leaf it was, and that are not in self_samples */
};

struct nodes {
	struct node *items;
	size_t count, capacity;
};

struct counts {
	uint64_t *items;
	size_t count, capacity;
};

/* Nodes on the way to the root << PLACE_BITS | enum place. */
struct way {
	uint32_t *items;
	size_t count, capacity;
};

/* Stacks on the way to the root. */
struct climbed {
	uint32_t *items;
	size_t count, capacity;
};

struct stacks {
	struct frames *frames;
	struct stacks_limits limits;
	uint32_t era; /* that `frames` is in */
	struct nodes nodes;
	struct u64_map keys; /* prefix << 32 | frame */
	struct counts self_samples; /* by frame */
	struct way way;
	struct climbed climbed;
	struct stacks_user *users;
	size_t slot_bytes; /* given to ids since all was forgotten, of those who left as well */
};

int stacks_open(struct stacks **out, struct frames *frames, const struct stacks_limits *limits)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->frames = frames;
	stacks->limits = *limits;
	if (!stacks->limits.stacks)
		stacks->limits.stacks = STACKS_MAX;
	if (!stacks->limits.slot_bytes)
		stacks->limits.slot_bytes = SLOT_BYTES_MAX;
	*out = stacks;
	return 0;
}

void stacks_close(struct stacks *stacks)
{
	if (!stacks)
		return;
	while (stacks->users)
		stacks_leave(stacks->users);
	u64_map_clear(&stacks->keys);
	free(stacks->nodes.items);
	free(stacks->self_samples.items);
	free(stacks->way.items);
	free(stacks->climbed.items);
	free(stacks);
}

/* ---- users ----------------------------------------------------------------------------- */

void stacks_join(struct stacks *stacks, struct stacks_user *user)
{
	user->next = stacks->users;
	user->at = &stacks->users;
	if (user->next)
		user->next->at = &user->next;
	stacks->users = user;
}

void stacks_leave(struct stacks_user *user)
{
	id_map_clear(&user->ids);
	if (!user->at)
		return;
	*user->at = user->next;
	if (user->next)
		user->next->at = user->at;
	user->at = NULL;
}

/* ---- forgetting ------------------------------------------------------------------------ */

static void clear_node(struct stacks *stacks, struct node *node)
{
	if (node->samples) {
		uint32_t frame = stacks_at(stacks, node->stacks[LEAF]).frame;

		stacks->self_samples.items[frame] += node->samples;
	}
	node->samples = 0;
	memset(node->stacks, 0xff, sizeof(node->stacks));
}

static void clear_nodes(struct stacks *stacks)
{
	size_t i;

	for (i = 0; i < stacks->nodes.count; i++)
		clear_node(stacks, &stacks->nodes.items[i]);
}

static void forget_if_many(struct stacks *stacks)
{
	struct stacks_user *user;

	if (stacks->keys.count < stacks->limits.stacks &&
	    stacks->slot_bytes < stacks->limits.slot_bytes)
		return;
	clear_nodes(stacks);
	u64_map_reset(&stacks->keys);
	for (user = stacks->users; user; user = user->next)
		id_map_clear(&user->ids);
	stacks->slot_bytes = 0;
}

const uint64_t *stacks_self_samples(struct stacks *stacks, size_t *count)
{
	clear_nodes(stacks);
	*count = stacks->self_samples.count;
	return stacks->self_samples.items;
}

/* ---- nodes ----------------------------------------------------------------------------- */

void stacks_restart(struct stacks *stacks)
{
	clear_nodes(stacks);
	stacks->nodes.count = 0;
}

/* One that is deeper than a sample can be is in no sample's stack, and a few bytes could make it much deeper. */
static bool makes_sense(const struct nodes *nodes, uint32_t node, uint32_t prefix)
{
	if (node != nodes->count || node >= 1U << (32 - PLACE_BITS))
		return false;
	return prefix == STACK_NODE_NONE ||
	       (prefix < node && nodes->items[prefix].depth < SAMPLE_MAX_FRAMES);
}

int stacks_add_node(struct stacks *stacks, uint32_t node, uint32_t prefix,
		    const struct frame *frame)
{
	struct nodes *nodes = &stacks->nodes;

	if (!makes_sense(nodes, node, prefix))
		return -EBADMSG;
	if (stacks->limits.nodes && node >= stacks->limits.nodes)
		return -E2BIG;
	if (ARRAY_ROOM(nodes))
		return -ENOMEM;
	nodes->items[nodes->count++] = (struct node){
		.frame = *frame,
		.prefix = prefix,
		.depth = prefix == STACK_NODE_NONE ? 1 : nodes->items[prefix].depth + 1,
		.era = stacks->era,
		.stacks = {STACKS_NONE, STACKS_NONE, STACKS_NONE},
	};
	return 0;
}

static void seek(struct stacks *stacks, uint64_t time_ns)
{
	frames_seek(stacks->frames, time_ns);
	stacks->era = frames_era(stacks->frames);
}

/* The node, with stacks of the current era or none. */
static struct node *node_at(struct stacks *stacks, uint32_t number)
{
	struct node *node = &stacks->nodes.items[number];

	if (node->era != stacks->era)
		clear_node(stacks, node);
	node->era = stacks->era;
	return node;
}

/* ---- stacks ---------------------------------------------------------------------------- */

static int reserve_count(struct counts *counts, uint32_t frame)
{
	size_t before = counts->count;
	int err;

	if (frame < before)
		return 0;
	err = array_reserve((void **)&counts->items, &counts->capacity, (size_t)frame + 1,
			    sizeof(*counts->items));
	if (err)
		return err;
	counts->count = (size_t)frame + 1;
	memset(counts->items + before, 0, (counts->count - before) * sizeof(*counts->items));
	return 0;
}

/*
 * A stack comes after its prefix, most often right after it. So one whose prefix is the latest stack of all is new.
 */
static int number_of(struct stacks *stacks, uint32_t prefix, uint32_t frame, uint32_t *stack)
{
	const struct u64_map *keys = &stacks->keys;
	size_t next = prefix == STACKS_NONE ? 0 : (size_t)prefix + 1;
	uint64_t key = (uint64_t)prefix << 32 | frame;

	if (next == keys->count)
		return u64_map_add(&stacks->keys, key, stack);
	if (keys->keys[next] != key)
		return u64_map_number(&stacks->keys, key, stack);
	*stack = (uint32_t)next;
	return 0;
}

/* The stack of a frame, and of those that it is inlined into, that are called by *stack (STACKS_NONE: it is a root). */
static int add_frames(struct stacks *stacks, uint32_t frame, uint32_t *stack)
{
	uint32_t inlined[UINT8_MAX + 1];
	unsigned int inherits = 0; /* what any of them does */
	size_t count;
	int err = 0;

	for (count = 0; frame != FRAME_NONE; count++) {
		const struct profile_frame *at = frames_at(stacks->frames, frame);

		inlined[count] = frame;
		inherits |= at->inherits;
		frame = at->inlined_into;
	}
	for (; count && !err; count--) {
		frame = inlined[count - 1];
		if (inherits && *stack != STACKS_NONE)
			err = frames_inherit(stacks->frames, stacks_at(stacks, *stack).frame,
					     &frame);
		if (!err)
			err = number_of(stacks, *stack, frame, stack);
	}
	return err;
}

/* Gives a node its stack, that of its prefix being *stack (STACKS_NONE: it is a root), and puts it there. */
static int add_stack(struct stacks *stacks, struct node *node, enum place place, uint32_t *stack)
{
	struct frame located = node->frame;
	uint32_t frame;
	int err;

	if (place == BELOW_KERNEL && frame_is(&located, GB_FRAME_USER))
		located.kind = GB_FRAME_INTERRUPTED;
	err = frames_locate(stacks->frames, &located, place == LEAF, &frame);
	if (!err)
		err = add_frames(stacks, frame, stack);
	if (!err)
		err = reserve_count(&stacks->self_samples, stacks_at(stacks, *stack).frame);
	if (!err)
		node->stacks[place] = *stack;
	return err;
}

static int push(struct way *way, uint32_t node, enum place place)
{
	int err = ARRAY_ROOM(way);

	if (!err)
		way->items[way->count++] = node << PLACE_BITS | place;
	return err;
}

/* Why a thread sleeps is the kernel's, too. */
static bool is_kernel(const struct node *node)
{
	return frame_is(&node->frame, GB_FRAME_KERNEL) || frame_is(&node->frame, GB_FRAME_SLEEP);
}

/* From a leaf to the first node that has a stack, or past the root. */
static int climb(struct stacks *stacks, uint32_t number, uint32_t *stack)
{
	enum place place = LEAF;
	int err = 0;

	stacks->way.count = 0;
	*stack = STACKS_NONE;
	while (!err && number != STACK_NODE_NONE) {
		const struct node *node = node_at(stacks, number);
		uint32_t prefix = node->prefix;

		*stack = node->stacks[place];
		if (*stack != STACKS_NONE)
			break;
		err = push(&stacks->way, number, place);
		place = prefix != STACK_NODE_NONE && is_kernel(node) &&
					!is_kernel(&stacks->nodes.items[prefix])
				? BELOW_KERNEL
				: CALLER;
		number = prefix;
	}
	return err;
}

static int make_stack(struct stacks *stacks, uint32_t leaf)
{
	uint32_t stack;
	int err;

	forget_if_many(stacks);
	err = climb(stacks, leaf, &stack);
	while (!err && stacks->way.count) {
		uint32_t next = stacks->way.items[--stacks->way.count];

		err = add_stack(stacks, &stacks->nodes.items[next >> PLACE_BITS],
				next & ((1U << PLACE_BITS) - 1), &stack);
	}
	return err;
}

int stacks_find(struct stacks *stacks, uint32_t node, uint64_t time_ns, bool is_counted,
		uint32_t *stack)
{
	struct node *leaf;
	int err = 0;

	if (node >= stacks->nodes.count)
		return -EBADMSG;
	seek(stacks, time_ns);
	leaf = node_at(stacks, node);
	if (leaf->stacks[LEAF] == STACKS_NONE)
		err = make_stack(stacks, node);
	if (err)
		return err;
	leaf->samples += is_counted;
	*stack = leaf->stacks[LEAF];
	return 0;
}

struct profile_stack stacks_at(const struct stacks *stacks, uint32_t stack)
{
	uint64_t key = stacks->keys.keys[stack];

	return (struct profile_stack){.prefix = (uint32_t)(key >> 32), .frame = (uint32_t)key};
}

/* ---- numbers of users ------------------------------------------------------------------- */

static int give_id(struct stacks *stacks, struct stacks_user *user, uint32_t stack, uint32_t id)
{
	size_t before = user->ids.slot_count;
	int err = id_map_put(&user->ids, stack, id);

	stacks->slot_bytes += (user->ids.slot_count - before) * sizeof(*user->ids.slots);
	return err;
}

/* From a stack that the user has no number for to the first that it has one for: *id; ID_NONE: past the root. */
static int climb_stacks(struct stacks *stacks, const struct stacks_user *user, uint32_t stack,
			uint32_t *id)
{
	struct climbed *climbed = &stacks->climbed;

	climbed->count = 0;
	*id = ID_NONE;
	while (*id == ID_NONE && stack != STACKS_NONE) {
		if (ARRAY_ROOM(climbed))
			return -ENOMEM;
		climbed->items[climbed->count++] = stack;
		stack = stacks_at(stacks, stack).prefix;
		if (stack != STACKS_NONE)
			*id = id_map_get(&user->ids, stack);
	}
	return 0;
}

int stacks_add_ids(struct stacks *stacks, struct stacks_user *user, uint32_t stack, uint32_t *id)
{
	struct climbed *climbed = &stacks->climbed;
	int err = climb_stacks(stacks, user, stack, id);

	while (!err && climbed->count) {
		stack = climbed->items[--climbed->count];
		err = user->add(user, *id, stacks_at(stacks, stack).frame, id);
		if (!err)
			err = give_id(stacks, user, stack, *id);
	}
	return err;
}
