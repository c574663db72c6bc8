/* SPDX-License-Identifier: BSD-2-Clause */
/* code_flow.c - see code_flow.h. */
#include "unwind/code_flow.h"
#include "arch/arch.h"

#include <errno.h>
#include <stdlib.h>

#define TABLES_TRIED 4 /* states of jumps by table, for one place */
#define TABLES_LOOKED_AT 64 /* for those */
#define BODY_BYTES                                                                                 \
	4096 /* of code that no way leads to are looked past, for whose code comes next */

/* ---- entries ---- */

int code_flow_enter(struct code_flow *flow, uint32_t at, bool is_outermost)
{
	struct frame_state state = is_outermost ? frame_state_outermost() : frame_state_entry();

	return code_walk_is_ours(flow, at) ? code_walk_enter(flow, at, &state) : 0;
}

int code_flow_point(struct code_flow *flow, uint32_t at)
{
	return code_walk_is_ours(flow, at)
		       ? code_ways_add(&flow->pointed, (struct code_way){.at = at})
		       : 0;
}

enum {
	MARK_BEGINS = 1,
	MARK_AFTER_END = 2
}; /* an instruction; behind one that does not go on there, or padding */

static bool may_end_function(const struct instruction *instruction)
{
	return instruction->kind == INSTRUCTION_PADDING ||
	       (instruction->kind >= INSTRUCTION_CALL && instruction->kind != INSTRUCTION_BRANCH);
}

/* Where in the code the instruction before `next` leads or points to; UINT64_MAX: nowhere. */
static uint64_t target_of(const struct code_flow *flow, const struct instruction *instruction,
			  uint64_t next)
{
	uint64_t target = UINT64_MAX;

	if (instruction->kind == INSTRUCTION_CALL || instruction->kind == INSTRUCTION_ADDRESS)
		target = instruction->value ? next + (uint64_t)instruction->value : UINT64_MAX;
	else if (instruction->kind == INSTRUCTION_NUMBER)
		target = (uint64_t)instruction->value - flow->address;
	return code_walk_is_ours(flow, target) ? target : UINT64_MAX;
}

/* Marks instructions as they come one after the other, and lists what is called, and whose address is taken. */
static int mark_instructions(struct code_flow *flow, uint8_t *marks, struct code_ways *called,
			     struct code_ways *pointed)
{
	struct instruction instruction;
	uint8_t after = MARK_AFTER_END;
	uint32_t at = 0;
	uint64_t target;
	int err = 0;

	while (at < flow->size && !err) {
		if (!code_walk_is_ours(flow, at) || !code_walk_decode(flow, at, &instruction)) {
			at++;
			after = MARK_AFTER_END;
			continue;
		}
		marks[at] = MARK_BEGINS | after;
		after = may_end_function(&instruction) ? MARK_AFTER_END : 0;
		at += instruction.length;
		target = target_of(flow, &instruction, at);
		if (target != UINT64_MAX)
			err = code_ways_add(instruction.kind == INSTRUCTION_CALL ? called : pointed,
					    (struct code_way){.at = (uint32_t)target});
	}
	return err;
}

/* Functions begin at what is called, where other code ends; perhaps at what is pointed to. */
static int enter_targets(struct code_flow *flow)
{
	const struct frame_state entry = frame_state_entry();
	uint8_t *marks = calloc(flow->size + 1, 1);
	struct code_ways called = {0};
	size_t i, kept = 0;
	int err = marks ? mark_instructions(flow, marks, &called, &flow->pointed) : -ENOMEM;

	for (i = 0; i < called.count && !err; i++)
		if (marks[called.items[i].at] == (MARK_BEGINS | MARK_AFTER_END))
			err = code_walk_enter(flow, called.items[i].at, &entry);
	for (i = 0; i < flow->pointed.count && !err; i++)
		if (marks[flow->pointed.items[i].at] == (MARK_BEGINS | MARK_AFTER_END))
			flow->pointed.items[kept++] = flow->pointed.items[i];
	flow->pointed.count = kept;
	free(called.items);
	free(marks);
	return err;
}

/* The states of jumps by table in the function `owner`; the first that is believed `least` holds. */
static int try_tables(struct code_flow *flow, uint32_t at, uint16_t owner, enum belief least)
{
	enum belief belief = IMPOSSIBLE;
	uint16_t tried[TABLES_TRIED];
	size_t j, count = 0;
	uint32_t i, looked = 0;
	int err = 0;

	for (i = flow->functions.items[owner].tables;
	     i && count < TABLES_TRIED && looked++ < TABLES_LOOKED_AT && !err;
	     i = flow->tables.items[i].next) {
		struct code_way way = flow->tables.items[i];

		for (j = 0; j < count && tried[j] != way.state; j++)
			;
		if (j < count)
			continue;
		tried[count++] = way.state;
		way.at = at;
		err = code_walk_try(flow, way, &belief);
		if (err || belief < least)
			continue;
		err = code_ways_add(&flow->work, way);
		return err ? err : code_walk_on(flow);
	}
	return err;
}

/* Whether what comes behind the jump by table that a trial has met can, and must, be one of its targets. */
static int try_behind_table(struct code_flow *flow, enum belief *belief)
{
	struct code_way way = flow->trial_table;
	struct instruction instruction;
	uint32_t length;

	if (!way.state || !code_walk_decode(flow, way.at, &instruction))
		return 0;
	way.at += instruction.length;
	while (code_flow_is_padding(flow, way.at, &length))
		way.at += length;
	if (!code_walk_is_ours(flow, way.at) || flow->places[way.at].state)
		return 0;
	return code_walk_try(flow, way, belief);
}

/* As a function of its own. */
static int try_entry(struct code_flow *flow, uint32_t at, enum belief least)
{
	struct frame_state state = frame_state_entry();
	struct code_way way = {.at = at};
	enum belief belief = IMPOSSIBLE;
	int err = state_set_number(&flow->states, &state, &way.state);

	if (!err)
		err = code_walk_try(flow, way, &belief);
	if (!err && belief == POSSIBLE && least == PROVEN)
		err = try_behind_table(flow, &belief);
	if (err || belief < least)
		return err;
	err = code_walk_enter(flow, at, &state);
	return err ? err : code_walk_on(flow);
}

bool code_flow_is_padding(const struct code_flow *flow, uint32_t at, uint32_t *length)
{
	struct instruction instruction;

	*length = 1;
	if (!code_walk_is_ours(flow, at) || flow->places[at].state)
		return false;
	if (flow->code[at] == 0xcc || flow->code[at] == 0)
		return true;
	if (!code_walk_decode(flow, at, &instruction) || instruction.kind != INSTRUCTION_PADDING)
		return false;
	*length = instruction.length;
	return true;
}

/* Behind the next instruction after which code may begin that no way leads to. */
static uint32_t skip_block(const struct code_flow *flow, uint32_t at)
{
	struct instruction instruction;

	while (code_walk_is_ours(flow, at) && !flow->places[at].state) {
		if (!code_walk_decode(flow, at, &instruction))
			return at + 1;
		at += instruction.length;
		if (instruction.kind >= INSTRUCTION_JUMP && instruction.kind != INSTRUCTION_BRANCH)
			break;
	}
	return at;
}

/* Whose code comes next. */
static uint16_t owner_after(const struct code_flow *flow, uint32_t at)
{
	uint32_t end = flow->size - at > BODY_BYTES ? at + BODY_BYTES : flow->size;

	while (at < end && flow->places[at].owner > OWNER_MAX && code_walk_is_ours(flow, at))
		at++;
	return at < end ? flow->places[at].owner : OWNER_NONE;
}

/*
 * `before`: whose code is before it. What lies within one function's code, and does not come back, is believed to be that
 * function's if nothing speaks against it.
 */
static int try_place(struct code_flow *flow, uint32_t at, uint16_t before, bool is_last)
{
	bool is_within = is_last && owner_after(flow, at) == before;
	int err = 0;

	if (before <= OWNER_MAX)
		err = try_tables(flow, at, before, is_within ? POSSIBLE : PROVEN);
	if (!err && !flow->places[at].state)
		err = try_entry(flow, at, PROVEN);
	return err;
}

/* All that no way has led to, once. */
static int sweep(struct code_flow *flow, bool is_last)
{
	uint16_t owner = OWNER_NONE;
	uint32_t at = 0, length;
	int err = 0;

	while (at < flow->size && !err && !code_walk_is_hopeless(flow)) {
		if (flow->places[at].owner <= OWNER_MAX)
			owner = flow->places[at].owner;
		if (flow->places[at].owner != OWNER_NONE) {
			if (flow->places[at].owner == OWNER_NOBODY)
				owner = OWNER_NONE;
			at++;
		} else if (code_flow_is_padding(flow, at, &length)) {
			at += length;
		} else {
			err = try_place(flow, at, owner, is_last);
			if (!err && !flow->places[at].state)
				at = skip_block(flow, at);
		}
	}
	return err;
}

/* Functions that do not return, and that only pointers lead to. */
static int enter_pointed(struct code_flow *flow)
{
	size_t i;
	int err = 0;

	for (i = 0; i < flow->pointed.count && !err; i++) {
		uint32_t at = flow->pointed.items[i].at;

		if (flow->places[at].owner == OWNER_NONE)
			err = try_entry(flow, at, POSSIBLE);
	}
	return err;
}

int code_flow_run(struct code_flow *flow)
{
	int err = enter_targets(flow);

	if (!err)
		err = code_walk_on(flow);
	if (!err)
		err = sweep(flow, false);
	if (!err)
		err = enter_pointed(flow);
	/* What was learned may let more be believed. */
	return err ? err : sweep(flow, true);
}

/* ---- what came of it ---- */

const struct frame_state *code_flow_at(const struct code_flow *flow, uint32_t at, bool *is_inside)
{
	const struct code_place *place = &flow->places[at];

	*is_inside = !place->state && place->owner == OWNER_INSIDE;
	if (!place->state ||
	    (place->owner <= OWNER_MAX && flow->functions.items[place->owner].is_wrong))
		return NULL;
	return state_set_at(&flow->states, place->state);
}

void code_flow_count_frames(const struct code_flow *flow, uint64_t *frames, uint64_t *with_fp)
{
	struct instruction first, second;
	size_t i;

	for (i = 0; i < flow->functions.count; i++) {
		uint32_t at = flow->functions.items[i].start;

		if (!flow->functions.items[i].is_entry || !code_walk_decode(flow, at, &first))
			continue;
		if (first.kind == INSTRUCTION_PLAIN &&
		    code_walk_is_ours(flow, at + first.length)) { /* endbr64 */
			at += first.length;
			if (!code_walk_decode(flow, at, &first))
				continue;
		}
		*frames += first.kind == INSTRUCTION_PUSH;
		at += first.length;
		*with_fp += first.kind == INSTRUCTION_PUSH && first.source == GB_REG_FP &&
			    code_walk_is_ours(flow, at) && code_walk_decode(flow, at, &second) &&
			    second.kind == INSTRUCTION_MOVE && second.target == GB_REG_FP;
	}
}
