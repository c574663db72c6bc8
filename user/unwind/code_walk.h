/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * code_walk.h - follows the ways through a stretch of machine code from where functions begin, and writes down at each
 * instruction what is known of the frame there.
 *
 *   functions ──> instruction by instruction, with a frame_state ──> branch: both ways; jump: there; return: the end
 *                        │                                            call: behind it, once what is called is known to return
 *                        └── where two ways come together: frame_state_meet()
 *
 * Code is data of a file: any bytes. Work is bounded by their number.
 */
#ifndef GECKOBPF_UNWIND_CODE_WALK_H
#define GECKOBPF_UNWIND_CODE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/state_set.h"

#define CODE_FLOW_MAX_BYTES (2u << 20)

/* Whose a place is; less: the index of a function. */
enum code_owner {
	OWNER_NOBODY = 0xffff, /* not claimed */
	OWNER_NONE = 0xfffe, /* claimed, and no way leads here */
	OWNER_INSIDE = 0xfffd, /* inside an instruction */
	OWNER_MAX = 0xfffc
};

/* One byte of code. */
struct code_place {
	uint16_t
		state; /* before the instruction that begins here: a number of `states`; 0: no way leads here */
	uint16_t owner; /* index of a function, or one of enum code_owner */
};

struct code_function {
	uint32_t start; /* offset in the code */
	uint32_t waiting; /* index of the first that waits to know that it returns */
	uint32_t tables; /* of the last jump by table that was met in it */
	bool is_entry; /* calls lead to it; it begins with frame_state_entry() or frame_state_outermost() */
	bool returns;
	bool is_redone, is_redone_now; /* it was wrong once */
	bool is_wrong; /* some way through it returns with another stack pointer than it began with */
};

struct code_way {
	uint32_t at;
	uint16_t state, owner;
	uint32_t next; /* in a list of those that wait */
};

struct code_ways {
	struct code_way *items;
	size_t count, capacity;
};

struct code_functions {
	struct code_function *items;
	size_t count, capacity;
};

struct code_flow {
	uint8_t *code;
	struct code_place *places;
	uint64_t address; /* of code[0] */
	uint32_t size; /* of both */
	struct state_set states;
	struct code_functions functions;
	struct code_ways work; /* to be followed */
	struct code_ways trial_work;
	struct code_ways waiting; /* lists, one a function; item 0 is no item */
	struct code_ways
		tables; /* jumps by table that were met: lists, one a function; item 0 is no item */
	struct code_ways pointed; /* where functions may begin: something takes their address */
	struct code_ways journal; /* what a trial has overwritten */
	uint64_t steps_left, trial_steps_left, steps_in_trial;
	enum { FLOW_CERTAIN, FLOW_TRIAL, FLOW_TRIAL_FAILED } mode;
	struct code_way trial_table; /* the last jump by table that it met; state 0: none */
	/* Whether the described function at an address returns. */
	bool (*may_return)(void *context, uint64_t address);
	void *context;
	bool has_wrong; /* a function came out wrong, and is to be redone */
	uint32_t trial_count, proven_count;
	bool is_proven; /* the trial has met what only a right one would meet */
};

/* `size` <= CODE_FLOW_MAX_BYTES, for the caller to fill `code` and to set may_return. 0 or -ENOMEM. code_flow_close() also where this failed. */
int code_flow_open(struct code_flow *flow, uint64_t address, uint32_t size);
void code_flow_close(struct code_flow *flow);

/* [start, end) is to be looked at; what nobody asks for is as if it were not there. */
void code_flow_claim(struct code_flow *flow, uint32_t start, uint32_t end);

static inline bool code_walk_is_ours(const struct code_flow *flow, uint64_t at)
{
	return at < flow->size && flow->places[at].owner != OWNER_NOBODY;
}

/* The instruction at `at`, if it is ours to its last byte. */
bool code_walk_decode(const struct code_flow *flow, uint64_t at, struct instruction *out);

/* 0 or -ENOMEM. */
int code_ways_add(struct code_ways *ways, struct code_way way);

/* A function begins at `at`, which is ours, with `state`; others that come by do not change it. 0 or -ENOMEM. */
int code_walk_enter(struct code_flow *flow, uint32_t at, const struct frame_state *state);

/* Follows all ways that are still to be followed. 0 or -ENOMEM. */
int code_walk_on(struct code_flow *flow);

enum belief { IMPOSSIBLE, POSSIBLE, PROVEN };

/*
 * What comes of the code at way.at having way.state, without changing anything: PROVEN if it gets back to a caller with all
 * as it was, or to where the state is known and the same. 0 or -ENOMEM.
 */
int code_walk_try(struct code_flow *flow, struct code_way way, enum belief *belief);

/* Whether so few trials have proven anything that no more are made. */
bool code_walk_is_hopeless(const struct code_flow *flow);

#endif
