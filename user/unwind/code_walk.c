/* SPDX-License-Identifier: BSD-2-Clause */
/* code_walk.c - see code_walk.h. */
#include "unwind/code_walk.h"
#include "arch/arch.h"
#include "base/array.h"
#include "base/large.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_A_BYTE 4 /* instructions that are followed, for each byte of code */
#define TRIAL_STEPS_A_BYTE 2 /* and in trials */
#define TRIAL_STEPS (1u << 17) /* in one of them */
/* Where fewer trials than one of so many prove anything, it is code of another kind (Haskell's). */
#define TRIALS_A_PROOF 16
#define TRIALS_MIN 128
#define TABLES_TRIED 4 /* states of jumps by table, for one place */
#define BODY_BYTES                                                                                 \
	4096 /* of code that no way leads to are looked past, for whose code comes next */

#define RETURNS_TOO UINT32_MAX /* `at` of what waits: the owner itself returns */

int code_ways_add(struct code_ways *ways, struct code_way way)
{
	int err = ARRAY_ROOM(ways);

	if (!err)
		ways->items[ways->count++] = way;
	return err;
}

int code_flow_open(struct code_flow *flow, uint64_t address, uint32_t size)
{
	uint32_t i;
	int err;

	*flow = (struct code_flow){.address = address,
				   .size = size,
				   .steps_left = (uint64_t)size * STEPS_A_BYTE,
				   .trial_steps_left = (uint64_t)size * TRIAL_STEPS_A_BYTE};
	flow->code = malloc(size + 1);
	flow->places = large_alloc((size + 1) * sizeof(*flow->places));
	if (!flow->code || !flow->places)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		flow->places[i] = (struct code_place){0, OWNER_NOBODY};
	err = code_ways_add(&flow->waiting, (struct code_way){0});
	return err ? err : code_ways_add(&flow->tables, (struct code_way){0});
}

void code_flow_close(struct code_flow *flow)
{
	free(flow->code);
	free(flow->places);
	state_set_close(&flow->states);
	free(flow->functions.items);
	free(flow->work.items);
	free(flow->trial_work.items);
	free(flow->waiting.items);
	free(flow->tables.items);
	free(flow->journal.items);
	free(flow->pointed.items);
	*flow = (struct code_flow){0};
}

void code_flow_claim(struct code_flow *flow, uint32_t start, uint32_t end)
{
	uint32_t i;

	for (i = start; i < end && i < flow->size; i++)
		flow->places[i] = (struct code_place){0, OWNER_NONE};
}

/* ---- functions ---- */

static int add_function(struct code_flow *flow, struct code_function function, uint16_t *index)
{
	int err;

	if (flow->functions.count > OWNER_MAX)
		return -ENOSPC;
	err = ARRAY_ROOM(&flow->functions);
	if (err)
		return err;
	*index = (uint16_t)flow->functions.count;
	flow->functions.items[flow->functions.count++] = function;
	return 0;
}

static struct code_function *entry_at(const struct code_flow *flow, uint64_t at)
{
	uint16_t owner = flow->places[at].owner;
	struct code_function *function;

	if (owner > OWNER_MAX)
		return NULL;
	function = &flow->functions.items[owner];
	return function->is_entry && function->start == at ? function : NULL;
}

/* The function that begins at `at`, made if need be; its first place is known at once, for all that come by. */
int code_walk_enter(struct code_flow *flow, uint32_t at, const struct frame_state *state)
{
	uint16_t index, number;
	int err;

	if (entry_at(flow, at))
		return 0;
	err = state_set_number(&flow->states, state, &number);
	if (err || flow->places[at].state == number)
		return err;
	err = add_function(flow, (struct code_function){.start = at, .is_entry = true}, &index);
	if (!err)
		err = code_ways_add(&flow->work, (struct code_way){at, number, index, 0});
	if (!err)
		flow->places[at] = (struct code_place){number, index};
	return err == -ENOSPC ? 0 : err;
}

/* It does; so do those that wait for it, and what follows calls of it is followed. */
static int set_returns(struct code_flow *flow, uint16_t owner)
{
	struct code_ways todo = {0};
	uint32_t i;
	int err = code_ways_add(&todo, (struct code_way){.owner = owner});

	while (!err && todo.count) {
		struct code_function *function =
			&flow->functions.items[todo.items[--todo.count].owner];

		if (function->returns)
			continue;
		function->returns = true;
		for (i = function->waiting; i && !err; i = flow->waiting.items[i].next)
			err = code_ways_add(flow->waiting.items[i].at == RETURNS_TOO ? &todo
										     : &flow->work,
					    flow->waiting.items[i]);
		function->waiting = 0;
	}
	free(todo.items);
	return err;
}

static int wait_for(struct code_flow *flow, struct code_function *function, struct code_way way)
{
	way.next = function->waiting;
	function->waiting = (uint32_t)flow->waiting.count;
	return code_ways_add(&flow->waiting, way);
}

/* `owner` goes on as `other`, and returns if that does. */
static int go_on_as(struct code_flow *flow, uint16_t owner, uint16_t other)
{
	if (owner == other || flow->functions.items[owner].returns)
		return 0;
	if (flow->functions.items[other].returns)
		return set_returns(flow, owner);
	if (flow->mode != FLOW_CERTAIN)
		return 0;
	return wait_for(flow, &flow->functions.items[other],
			(struct code_way){RETURNS_TOO, 0, owner, 0});
}

/* ---- one way ---- */

/* The way that is being followed. */
struct walker {
	uint64_t at;
	uint16_t owner, state;
	bool is_after_call;
	bool is_done;
};

static void fail(struct code_flow *flow, struct walker *walker)
{
	walker->is_done = true;
	if (flow->mode != FLOW_CERTAIN)
		flow->mode = FLOW_TRIAL_FAILED;
}

static void fail_function(struct code_flow *flow, struct walker *walker)
{
	fail(flow, walker);
	if (flow->mode != FLOW_CERTAIN)
		return;
	flow->has_wrong |= !flow->functions.items[walker->owner].is_wrong;
	flow->functions.items[walker->owner].is_wrong = true;
}

static int set_place(struct code_flow *flow, const struct walker *walker, uint16_t state)
{
	struct code_place *place = &flow->places[walker->at];
	int err = 0;

	if (flow->mode != FLOW_CERTAIN)
		err = code_ways_add(
			&flow->journal,
			(struct code_way){(uint32_t)walker->at, place->state, place->owner, 0});
	if (place->owner > OWNER_MAX)
		place->owner = walker->owner;
	place->state = state;
	return err;
}

/* It has come to where the function `entry` begins. */
static int meet_entry(struct code_flow *flow, struct walker *walker, struct code_function *entry)
{
	const struct frame_state *state = state_set_at(&flow->states, walker->state);
	uint16_t index = (uint16_t)(entry - flow->functions.items);

	walker->is_done = true;
	if (walker->is_after_call)
		return 0; /* what was called does not return */
	if (!frame_state_is_balanced(state)) {
		fail(flow, walker);
		return 0;
	}
	flow->is_proven = true;
	return go_on_as(flow, walker->owner, index);
}

/* It has come to where another way came by: done, if nothing new is known. */
static int meet_way(struct code_flow *flow, struct walker *walker)
{
	struct code_place *place = &flow->places[walker->at];
	struct frame_state met;
	uint16_t number;
	int err;

	met = frame_state_meet(state_set_at(&flow->states, place->state),
			       state_set_at(&flow->states, walker->state));
	err = state_set_number(&flow->states, &met, &number);
	if (!err && place->owner <= OWNER_MAX)
		err = go_on_as(flow, walker->owner, place->owner);
	if (err)
		return err;
	if (place->owner != walker->owner && !met.is_conflict)
		flow->is_proven = true;
	if (met.is_conflict)
		fail(flow, walker);
	walker->state = number;
	walker->is_done |= number == place->state;
	if (number == place->state || flow->mode == FLOW_TRIAL_FAILED)
		return 0;
	walker->is_done = false;
	return set_place(flow, walker, number);
}

/* Takes note of being at an instruction. */
static int arrive(struct code_flow *flow, struct walker *walker)
{
	struct code_function *entry;

	if (!code_walk_is_ours(flow, walker->at)) {
		/* Code that is described: another function, mostly. */
		walker->is_done = true;
		return set_returns(flow, walker->owner);
	}
	entry = entry_at(flow, walker->at);
	if (entry)
		return meet_entry(flow, walker, entry);
	if (flow->places[walker->at].state)
		return meet_way(flow, walker);
	return set_place(flow, walker, walker->state);
}

static void mark_inside(struct code_flow *flow, uint64_t at, uint8_t length)
{
	uint64_t i;

	for (i = at + 1; i < at + length; i++)
		if (flow->places[i].owner == OWNER_NONE)
			flow->places[i].owner = OWNER_INSIDE;
}

bool code_walk_decode(const struct code_flow *flow, uint64_t at, struct instruction *out)
{
	uint64_t i;

	if (!machine_decode(flow->code + at, flow->size - at, out))
		return false;
	for (i = at + 1; i < at + out->length; i++)
		if (!code_walk_is_ours(flow, i))
			return false;
	return true;
}

static int step(struct code_flow *flow, struct walker *walker,
		const struct instruction *instruction)
{
	struct frame_state state;

	if (instruction->kind <= INSTRUCTION_PADDING && !instruction->written)
		return 0;
	state = *state_set_at(&flow->states, walker->state);
	frame_state_step(&state, instruction);
	return state_set_number(&flow->states, &state, &walker->state);
}

/* Whether what is behind a call of code that is described elsewhere can belong to the function: the call may not return. */
static int look_behind(struct code_flow *flow, struct walker *walker, uint64_t next)
{
	enum belief belief;
	int err;

	if (!code_walk_is_ours(flow, next))
		return 0;
	err = code_walk_try(flow, (struct code_way){(uint32_t)next, walker->state, 0, 0}, &belief);
	walker->is_done |= belief == IMPOSSIBLE;
	return err;
}

/* A call: the way goes on behind it, at once or once it is known that it comes back. */
static int call(struct code_flow *flow, struct walker *walker,
		const struct instruction *instruction, uint64_t next)
{
	const struct instruction push = {
		.kind = INSTRUCTION_PUSH, .source = GB_REG_COUNT, .value = -GB_RETURN_AT};
	uint64_t target = next + (uint64_t)instruction->value;
	struct frame_state entry = frame_state_entry();
	struct code_function *function;
	int err;

	if (!instruction->value) /* it takes its own address */
		return step(flow, walker, &push);
	err = step(flow, walker, instruction);
	if (err)
		return err;
	if (!code_walk_is_ours(flow, target)) {
		walker->is_done = !flow->may_return(flow->context, flow->address + target);
		if (walker->is_done || !flow->functions.items[walker->owner].is_redone)
			return 0;
		return look_behind(flow, walker, next);
	}
	if (flow->mode == FLOW_CERTAIN)
		err = code_walk_enter(flow, (uint32_t)target, &entry);
	function = entry_at(flow, target);
	if (err || !function || function->returns)
		return err;
	walker->is_done = true;
	if (flow->mode != FLOW_CERTAIN)
		return 0;
	return wait_for(flow, function,
			(struct code_way){(uint32_t)next, walker->state, walker->owner, 0});
}

static int come_back(struct code_flow *flow, struct walker *walker)
{
	const struct frame_state *state = state_set_at(&flow->states, walker->state);

	walker->is_done = true;
	if (state->is_conflict || state->is_outermost)
		return 0;
	/* Where the stack pointer is not known, it need not be wrong; and functions of one file may use FP as they agree. */
	if (frame_state_is_balanced(state))
		flow->is_proven = true;
	else if (!frame_state_can_return(state) &&
		 (state->sp == FRAME_CFA || flow->mode != FLOW_CERTAIN))
		fail_function(flow, walker);
	return flow->mode == FLOW_CERTAIN ? set_returns(flow, walker->owner) : 0;
}

/* A jump to who knows where: as another function, or within this one. */
static int jump_by_table(struct code_flow *flow, struct walker *walker, bool is_slot)
{
	const struct frame_state *state = state_set_at(&flow->states, walker->state);

	walker->is_done = true;
	if (is_slot && frame_state_is_balanced(state))
		flow->is_proven = true;
	if (flow->mode != FLOW_CERTAIN) {
		if (!is_slot && !state->is_conflict)
			flow->trial_table =
				(struct code_way){(uint32_t)walker->at, walker->state, 0, 0};
		return 0;
	}
	if (!is_slot && !state->is_conflict) {
		struct code_function *function = &flow->functions.items[walker->owner];
		struct code_way way = {(uint32_t)walker->at, walker->state, walker->owner,
				       function->tables};

		if (code_ways_add(&flow->tables, way))
			return -ENOMEM;
		function->tables = (uint32_t)flow->tables.count - 1;
	}
	return set_returns(flow, walker->owner);
}

/* Does what the instruction says, and puts the walker where it goes on. */
static int go_on(struct code_flow *flow, struct walker *walker,
		 const struct instruction *instruction)
{
	uint64_t next = walker->at + instruction->length;
	uint64_t target = next + (uint64_t)instruction->value;
	int err = 0;

	walker->is_after_call = false;
	switch (instruction->kind) {
	case INSTRUCTION_RETURN:
		return come_back(flow, walker);
	case INSTRUCTION_STOP:
		walker->is_done = true;
		return 0;
	case INSTRUCTION_JUMP_INDIRECT:
	case INSTRUCTION_JUMP_SLOT:
		return jump_by_table(flow, walker, instruction->kind == INSTRUCTION_JUMP_SLOT);
	case INSTRUCTION_JUMP:
		next = target;
		break;
	case INSTRUCTION_BRANCH:
		err = step(flow, walker, instruction);
		if (!err && code_walk_is_ours(flow, target))
			err = code_ways_add(&flow->work,
					    (struct code_way){(uint32_t)target, walker->state,
							      walker->owner, 0});
		break;
	case INSTRUCTION_CALL:
		walker->is_after_call = true;
		err = call(flow, walker, instruction, next);
		break;
	case INSTRUCTION_CALL_INDIRECT:
		walker->is_after_call = true;
		err = step(flow, walker, instruction);
		break;
	default:
		err = step(flow, walker, instruction);
	}
	walker->at = next;
	return err;
}

static bool take_step(struct code_flow *flow)
{
	uint64_t *left = flow->mode == FLOW_CERTAIN ? &flow->steps_left : &flow->trial_steps_left;

	if (!*left || flow->steps_in_trial > TRIAL_STEPS)
		return false;
	(*left)--;
	flow->steps_in_trial += flow->mode != FLOW_CERTAIN;
	return true;
}

static int follow(struct code_flow *flow, struct code_way way)
{
	struct walker walker = {.at = way.at, .owner = way.owner, .state = way.state};
	/* The place of an entry is known before anybody has been there. */
	bool is_start = flow->functions.items[way.owner].start == way.at &&
			flow->places[way.at].state == way.state;
	struct instruction instruction;
	int err = 0;

	while (!walker.is_done && !err) {
		if (!is_start)
			err = arrive(flow, &walker);
		is_start = false;
		if (err || walker.is_done)
			break;
		if (!take_step(flow) || !code_walk_decode(flow, walker.at, &instruction)) {
			fail(flow, &walker);
			break;
		}
		mark_inside(flow, walker.at, instruction.length);
		err = go_on(flow, &walker, &instruction);
	}
	return err;
}

static int follow_all(struct code_flow *flow)
{
	int err = 0;

	while (flow->work.count && !err && flow->mode != FLOW_TRIAL_FAILED)
		err = follow(flow, flow->work.items[--flow->work.count]);
	flow->work.count = 0;
	return err;
}

/* Nobody has been at the instruction at `at`. */
static void forget(struct code_flow *flow, uint64_t at)
{
	flow->places[at] = (struct code_place){0, OWNER_NONE};
	while (++at < flow->size && flow->places[at].owner == OWNER_INSIDE)
		flow->places[at].owner = OWNER_NONE;
}

/*
 * Functions that came out wrong are followed once more from their start, with a look at what is behind calls of code that is
 * described elsewhere: a function that does not return (exit) makes the next one's code look like its caller's.
 */
static int redo_wrong(struct code_flow *flow)
{
	struct code_functions *functions = &flow->functions;
	uint64_t at;
	bool is_any = false;
	size_t i;
	int err = 0;

	for (i = 0; i < functions->count; i++) {
		struct code_function *function = &functions->items[i];

		function->is_redone_now = function->is_wrong && !function->is_redone &&
					  entry_at(flow, function->start) == function;
		is_any |= function->is_redone_now;
	}
	for (at = 0; is_any && at < flow->size; at++) {
		uint16_t owner = flow->places[at].owner;

		if (owner <= OWNER_MAX && functions->items[owner].is_redone_now &&
		    functions->items[owner].start != at)
			forget(flow, at);
	}
	for (i = 0; i < functions->count && !err; i++) {
		struct code_function *function = &functions->items[i];

		if (!function->is_redone_now)
			continue;
		function->is_redone = true;
		function->is_redone_now = function->is_wrong = false;
		err = code_ways_add(&flow->work,
				    (struct code_way){function->start,
						      flow->places[function->start].state,
						      (uint16_t)i, 0});
	}
	return err;
}

int code_walk_on(struct code_flow *flow)
{
	int err = follow_all(flow);

	while (!err && flow->has_wrong) {
		flow->has_wrong = false;
		err = redo_wrong(flow);
		if (!err)
			err = follow_all(flow);
	}
	return err;
}

/* ---- trials ---- */

bool code_walk_is_hopeless(const struct code_flow *flow)
{
	return flow->trial_count > TRIALS_MIN &&
	       flow->trial_count > flow->proven_count * TRIALS_A_PROOF;
}

static void undo(struct code_flow *flow)
{
	struct instruction instruction;
	uint64_t i;

	while (flow->journal.count) {
		const struct code_way *was = &flow->journal.items[--flow->journal.count];

		flow->places[was->at] = (struct code_place){was->state, was->owner};
		if (was->state || was->owner == OWNER_INSIDE ||
		    !code_walk_decode(flow, was->at, &instruction))
			continue;
		for (i = was->at + 1; i < (uint64_t)was->at + instruction.length; i++)
			if (flow->places[i].owner == OWNER_INSIDE)
				flow->places[i].owner = OWNER_NONE;
	}
}

/* Whether code at way.at can have way.state, and must. What belongs to the trial has an owner of its own. */
int code_walk_try(struct code_flow *flow, struct code_way way, enum belief *belief)
{
	struct code_ways work = flow->work;
	int err;

	*belief = IMPOSSIBLE;
	if (code_walk_is_hopeless(flow))
		return 0;
	err = add_function(flow, (struct code_function){.start = way.at}, &way.owner);
	if (err)
		return err == -ENOSPC ? 0 : err;
	flow->work = flow->trial_work;
	flow->mode = FLOW_TRIAL;
	flow->is_proven = false;
	flow->trial_table = (struct code_way){0};
	flow->steps_in_trial = 0;
	err = code_ways_add(&flow->work, way);
	if (!err)
		err = follow_all(flow);
	flow->trial_work = flow->work;
	flow->work = work;
	flow->functions.count--;
	if (flow->mode == FLOW_TRIAL)
		*belief = flow->is_proven ? PROVEN : POSSIBLE;
	flow->trial_count++;
	flow->proven_count += *belief == PROVEN;
	undo(flow);
	flow->steps_in_trial = 0;
	flow->mode = FLOW_CERTAIN;
	return err;
}
