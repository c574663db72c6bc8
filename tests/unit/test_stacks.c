/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks are what their nodes say, whoever asks, also after all was forgotten; numbers by numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/types.h>

#include "buffer/profile_buffer.h"
#include "base/id_map.h"
#include "profile/stacks.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define USERS 3
#define NUMBERS 100000
#define CODE 0x7f0000000000ULL
#define KERNEL 0xffffffff81000000ULL

/* ---- numbers by numbers ---------------------------------------------------------------- */

static void id_maps(void **state)
{
	struct id_map map = {0};
	uint32_t i;

	assert_int_equal(id_map_get(&map, 0), ID_NONE);
	/* In groups, backwards within them, and far apart. */
	for (i = 0; i < 5000; i++)
		assert_int_equal(id_map_put(&map, (i ^ 7) * (i % 2 ? 1 : 64001), i), 0);
	assert_int_equal(map.count, 5000);
	assert_true(map.slot_count * 3 >= map.count * 4);
	for (i = 0; i < 5000; i++)
		assert_int_equal(id_map_get(&map, (i ^ 7) * (i % 2 ? 1 : 64001)), i);
	assert_int_equal(id_map_get(&map, 4000000000U), ID_NONE);
	assert_int_equal(id_map_put(&map, ID_NONE - 1, 77), 0);
	assert_int_equal(id_map_get(&map, ID_NONE - 1), 77);
	id_map_clear(&map);
	assert_int_equal(id_map_get(&map, 0), ID_NONE);
}

static void id_map_without_memory(void **state)
{
	struct id_map map = {0};
	uint32_t i;

	alloc_fail_at(1);
	assert_int_equal(id_map_put(&map, 5, 1), -ENOMEM);
	assert_true(alloc_fail_stop());
	for (i = 0; i < 48; i++)
		assert_int_equal(id_map_put(&map, i, i), 0);
	alloc_fail_at(1);
	assert_int_equal(id_map_put(&map, 48, 48), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_int_equal(map.count, 48);
	assert_int_equal(id_map_get(&map, 47), 47);
	assert_int_equal(id_map_get(&map, 48), ID_NONE);
	id_map_clear(&map);
}

/* ---- stacks ------------------------------------------------------------------------------ */

struct room {
	struct frames *frames;
	struct stacks *stacks;
	struct user {
		struct stacks_user numbers;
		struct room *room;
		uint64_t given; /* numbers that it had to give */
		/* What its numbers are: frames, and numbers of prefixes. */
		uint32_t frames[NUMBERS], prefixes[NUMBERS];
	} users[USERS];
	struct process process;
};

static int add_number(struct stacks_user *numbers, uint32_t prefix, uint32_t frame, uint32_t *id)
{
	struct user *user = (struct user *)numbers;

	assert_true(user->given < NUMBERS);
	*id = (uint32_t)user->given++;
	user->frames[*id] = frame;
	user->prefixes[*id] = prefix;
	return 0;
}

static int open_room(struct room *room, const struct stacks_limits *limits)
{
	unsigned int i;
	int err;

	memset(room, 0, sizeof(*room));
	err = frames_open(&room->frames, &(struct frames_source){.process = &room->process});
	if (!err)
		err = stacks_open(&room->stacks, room->frames, limits);
	for (i = 0; i < USERS && !err; i++) {
		room->users[i].room = room;
		room->users[i].numbers.add = add_number;
		stacks_join(room->stacks, &room->users[i].numbers);
	}
	return err;
}

static void close_room(struct room *room)
{
	/* One leaves by itself, the others when the stacks are closed. */
	stacks_leave(&room->users[1].numbers);
	stacks_close(room->stacks);
	frames_close(room->frames);
	address_space_clear(&room->process.space);
}

static int add(struct room *room, uint32_t node, uint32_t prefix, uint64_t pc)
{
	const struct frame frame = {.value = pc,
				    .kind = pc >= KERNEL ? GB_FRAME_KERNEL : GB_FRAME_USER};

	return stacks_add_node(room->stacks, node, prefix, &frame);
}

static uint64_t address_of(const struct room *room, uint32_t stack)
{
	return frames_at(room->frames, stacks_at(room->stacks, stack).frame)->address;
}

static void expect_stack(struct room *room, uint32_t stack, const uint64_t *addresses)
{
	for (; *addresses; addresses++) {
		assert_int_not_equal(stack, STACKS_NONE);
		assert_int_equal(address_of(room, stack), *addresses);
		stack = stacks_at(room->stacks, stack).prefix;
	}
	assert_int_equal(stack, STACKS_NONE);
}

static void nodes_are_checked(void **state)
{
	const struct stacks_limits limits = {0};
	static struct room room;
	uint32_t stack;

	assert_int_equal(open_room(&room, &limits), 0);
	assert_int_equal(stacks_find(room.stacks, 0, 1, true, &stack), -EBADMSG);
	assert_int_equal(add(&room, 1, STACK_NODE_NONE, CODE), -EBADMSG);
	assert_int_equal(add(&room, 0, STACK_NODE_NONE, CODE), 0);
	assert_int_equal(add(&room, 0, STACK_NODE_NONE, CODE), -EBADMSG);
	assert_int_equal(add(&room, 1, 1, CODE), -EBADMSG);
	assert_int_equal(add(&room, 1, 0, CODE), 0);
	assert_int_equal(stacks_find(room.stacks, 1, 1, true, &stack), 0);
	assert_int_equal(stacks_find(room.stacks, 2, 1, true, &stack), -EBADMSG);
	assert_int_equal(stacks_find(room.stacks, STACK_NODE_NONE, 1, true, &stack), -EBADMSG);
	stacks_restart(room.stacks);
	assert_int_equal(stacks_find(room.stacks, 0, 1, true, &stack), -EBADMSG);
	close_room(&room);
}

/* The same stack of other nodes is the same; a kernel's frame and the user's below it were interrupted, callers were not. */
static void stacks_outlive_nodes(void **state)
{
	static const uint64_t from_kernel[] = {KERNEL + 0x20, KERNEL + 0x10, CODE + 0x20,
					       CODE + 0x10, 0};
	const struct stacks_limits limits = {0};
	static struct room room;
	uint32_t leaf, caller, kernel, again;

	assert_int_equal(open_room(&room, &limits), 0);
	assert_int_equal(add(&room, 0, STACK_NODE_NONE, CODE + 0x10), 0);
	assert_int_equal(add(&room, 1, 0, CODE + 0x20), 0);
	assert_int_equal(add(&room, 2, 1, KERNEL + 0x10), 0);
	assert_int_equal(add(&room, 3, 2, KERNEL + 0x20), 0);
	assert_int_equal(stacks_find(room.stacks, 3, 1, true, &kernel), 0);
	expect_stack(&room, kernel, from_kernel);
	assert_int_equal(stacks_find(room.stacks, 1, 1, true, &leaf), 0);
	expect_stack(&room, leaf, from_kernel + 2);
	/* Raw addresses: as a caller it is called the same. */
	caller = stacks_at(room.stacks, stacks_at(room.stacks, kernel).prefix).prefix;
	assert_int_equal(caller, leaf);
	stacks_restart(room.stacks);
	assert_int_equal(add(&room, 0, STACK_NODE_NONE, CODE + 0x99), 0);
	assert_int_equal(add(&room, 1, STACK_NODE_NONE, CODE + 0x10), 0);
	assert_int_equal(add(&room, 2, 1, CODE + 0x20), 0);
	assert_int_equal(stacks_find(room.stacks, 0, 2, true, &again), 0);
	assert_int_equal(stacks_at(room.stacks, again).prefix, STACKS_NONE);
	assert_int_equal(stacks_find(room.stacks, 2, 2, true, &again), 0);
	assert_int_equal(again, leaf);
	close_room(&room);
}

/* A few bytes of an entry could make each stack deeper than the one before. */
static void no_stack_is_too_deep(void **state)
{
	const struct stacks_limits limits = {0};
	static struct room room;
	uint32_t i, stack;

	assert_int_equal(open_room(&room, &limits), 0);
	for (i = 0; i < SAMPLE_MAX_FRAMES; i++)
		assert_int_equal(add(&room, i, i ? i - 1 : STACK_NODE_NONE, CODE + i % 7), 0);
	assert_int_equal(add(&room, i, i - 1, CODE), -EBADMSG);
	assert_int_equal(stacks_find(room.stacks, i - 1, 1, true, &stack), 0);
	for (i = 0; stack != STACKS_NONE; i++)
		stack = stacks_at(room.stacks, stack).prefix;
	assert_int_equal(i, SAMPLE_MAX_FRAMES);
	assert_int_equal(add(&room, i, 0, CODE), 0);
	close_room(&room);
}

/* Samples come a little out of order: what a node is, and how often, does not depend on how often the era changes. */
static void eras_by_turns(void **state)
{
	static struct object object = {.number = 1, .path = (char *)"/x", .fd = -1};
	static const struct mapping mapping = {CODE, CODE + 0x1000, 0, 1000, &object};
	const struct stacks_limits limits = {0};
	static struct room room;
	uint32_t i, stack, first, leaf;
	uint64_t sum = 0;
	const uint64_t *samples;
	size_t count, j;

	assert_int_equal(open_room(&room, &limits), 0);
	assert_int_equal(address_space_add(&room.process.space, &mapping), 0);
	assert_int_equal(add(&room, 0, STACK_NODE_NONE, CODE + 0x10), 0);
	assert_int_equal(add(&room, 1, 0, CODE + 0x20), 0);
	assert_int_equal(stacks_find(room.stacks, 1, 500, true, &first), 0);
	leaf = stacks_at(room.stacks, first).frame;
	for (i = 1; i < 1000; i++) {
		assert_int_equal(
			stacks_find(room.stacks, i % 3 ? 1 : 0, i % 2 ? 1500 : 500, true, &stack),
			0);
		assert_true(i % 3 == 0 || stack == first);
	}
	samples = stacks_self_samples(room.stacks, &count);
	for (j = 0; j < count; j++)
		sum += samples[j];
	assert_int_equal(sum, 1000);
	assert_int_equal(samples[leaf], 1000 - 333);
	close_room(&room);
}

/* ---- many ---------------------------------------------------------------------------------- */

#define CHUNKS 20
#define NODES 400
#define SAMPLES 500
#define CALLS 5
#define LEAVES 60

/* A tree of calls, some of which many chunks have. */
struct tree {
	uint32_t prefixes[NODES];
	uint64_t pcs[NODES];
	uint64_t seed;
};

static uint32_t dice(struct tree *tree, uint32_t sides)
{
	tree->seed = tree->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(tree->seed >> 33) % sides;
}

static int fill_chunk(struct room *room, struct tree *tree)
{
	uint32_t i;
	int err = 0;

	stacks_restart(room->stacks);
	for (i = 0; i < NODES && !err; i++) {
		tree->prefixes[i] = i ? dice(tree, i) : STACK_NODE_NONE;
		tree->pcs[i] = CODE + dice(tree, i % 3 ? LEAVES : CALLS);
		err = add(room, i, tree->prefixes[i], tree->pcs[i]);
	}
	return err;
}

static bool is_stack_of(const struct room *room, const struct tree *tree, uint32_t node,
			uint32_t stack)
{
	for (; node != STACK_NODE_NONE; node = tree->prefixes[node]) {
		if (stack == STACKS_NONE || address_of(room, stack) != tree->pcs[node])
			return false;
		stack = stacks_at(room->stacks, stack).prefix;
	}
	return stack == STACKS_NONE;
}

/* The same, by a user's own number. */
static bool is_number_of(const struct user *user, const struct tree *tree, uint32_t node,
			 uint32_t id)
{
	for (; node != STACK_NODE_NONE; node = tree->prefixes[node]) {
		if (id == ID_NONE ||
		    frames_at(user->room->frames, user->frames[id])->address != tree->pcs[node])
			return false;
		assert_true(user->prefixes[id] == ID_NONE || user->prefixes[id] < id);
		id = user->prefixes[id];
	}
	return id == ID_NONE;
}

/* What happened, to compare. */
struct outcome {
	uint64_t samples[LEAVES]; /* by leaf, as was put in */
	uint64_t given; /* numbers that users had to give */
};

static int sample_chunk(struct room *room, struct tree *tree, struct outcome *outcome)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < SAMPLES && !err; i++) {
		struct user *user = &room->users[dice(tree, USERS)];
		uint32_t node = dice(tree, NODES), stack, id;

		err = stacks_find(room->stacks, node, i, true, &stack);
		if (err)
			break;
		assert_true(is_stack_of(room, tree, node, stack));
		outcome->samples[tree->pcs[node] - CODE]++;
		err = stacks_id(room->stacks, &user->numbers, stack, &id);
		assert_true(err || is_number_of(user, tree, node, id));
	}
	return err;
}

static void expect_counts(struct room *room, const struct outcome *outcome)
{
	size_t count, i;
	const uint64_t *samples = stacks_self_samples(room->stacks, &count);
	uint64_t found[LEAVES] = {0};

	for (i = 0; i < count; i++) {
		found[frames_at(room->frames, (uint32_t)i)->address - CODE] += samples[i];
	}
	assert_memory_equal(found, outcome->samples, sizeof(found));
}

static int run_chunks(const struct stacks_limits *limits, struct outcome *outcome)
{
	static struct room room;
	struct tree *tree = calloc(1, sizeof(*tree));
	unsigned int i;
	int err = open_room(&room, limits);

	memset(outcome, 0, sizeof(*outcome));
	if (!tree)
		err = -ENOMEM;
	for (i = 0; i < CHUNKS && !err; i++) {
		err = fill_chunk(&room, tree);
		if (!err)
			err = sample_chunk(&room, tree, outcome);
	}
	if (!err)
		expect_counts(&room, outcome);
	for (i = 0; i < USERS; i++)
		outcome->given += room.users[i].given;
	close_room(&room);
	free(tree);
	return err;
}

static void forgetting_changes_nothing_but_numbers(void **state)
{
	static const struct stacks_limits small[] = {{.stacks = 1},
						     {.stacks = 300},
						     {.slot_bytes = 1024},
						     {.stacks = 500, .slot_bytes = 2048}};
	const struct stacks_limits unlimited = {.stacks = SIZE_MAX, .slot_bytes = SIZE_MAX};
	struct outcome all, some;
	size_t i;

	assert_int_equal(run_chunks(&unlimited, &all), 0);
	for (i = 0; i < sizeof(small) / sizeof(*small); i++) {
		assert_int_equal(run_chunks(&small[i], &some), 0);
		assert_memory_equal(some.samples, all.samples, sizeof(all.samples));
		assert_true(some.given > all.given);
	}
}

static void nodes_have_a_limit(void **state)
{
	const struct stacks_limits few = {.nodes = 10};
	struct outcome outcome;

	assert_int_equal(run_chunks(&few, &outcome), -E2BIG);
}

static int attempt(void *context)
{
	struct outcome outcome;

	return run_chunks(context, &outcome);
}

static void failing_allocations(void **state)
{
	struct stacks_limits limits = {.stacks = 300, .slot_bytes = 4096};

	assert_true(alloc_fail_each(attempt, &limits) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_maps),
		cmocka_unit_test(id_map_without_memory),
		cmocka_unit_test(nodes_are_checked),
		cmocka_unit_test(stacks_outlive_nodes),
		cmocka_unit_test(no_stack_is_too_deep),
		cmocka_unit_test(eras_by_turns),
		cmocka_unit_test(forgetting_changes_nothing_but_numbers),
		cmocka_unit_test(nodes_have_a_limit),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
