/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_state.c - see frame_state.h. */
#include "unwind/frame_state.h"
#include "unwind/arch.h"

#include <string.h>

#define OFFSET_MAX (1 << 28) /* bytes; the sum of two fits 32 bits */
#define ZERO_JUST_NOW 1 /* fp_offset of FRAME_ZERO after the instruction before */
#define RED_ZONE_BYTES 128 /* below the stack pointer, that nobody else writes to */

/* FRAME_CFA and FRAME_ALIGNED are a place, at an offset; the others are not. */
struct place {
	uint8_t value;
	int32_t offset;
};

struct frame_state frame_state_entry(void)
{
	return (struct frame_state){
		.sp = FRAME_CFA, .sp_offset = GB_RETURN_AT, .fp = FRAME_CALLERS};
}

struct frame_state frame_state_outermost(void)
{
	return (struct frame_state){.is_outermost = 1};
}

static struct frame_state conflict(void)
{
	return (struct frame_state){.is_conflict = 1};
}

static bool is_place(uint8_t value)
{
	return value == FRAME_CFA || value == FRAME_ALIGNED;
}

/* What `reg` holds. */
static struct place place_of(const struct frame_state *state, uint8_t reg)
{
	if (reg == GB_REG_SP)
		return (struct place){state->sp, state->sp_offset};
	if (reg == GB_REG_FP)
		return (struct place){state->fp, state->fp_offset};
	if (state->alias && reg == state->alias_reg)
		return (struct place){state->alias, state->alias_offset};
	return (struct place){FRAME_UNKNOWN, 0};
}

static struct place moved(struct place place, int64_t by)
{
	int64_t offset = place.offset + by;

	if (!is_place(place.value))
		return (struct place){FRAME_UNKNOWN, 0};
	if (by < -OFFSET_MAX || by > OFFSET_MAX || offset < -OFFSET_MAX || offset > OFFSET_MAX)
		return (struct place){FRAME_UNKNOWN, 0};
	return (struct place){place.value, (int32_t)offset};
}

static void forget_saved_fp(struct frame_state *state)
{
	state->saved_fp = FRAME_UNKNOWN;
	state->saved_fp_at = 0;
}

static void forget_saved_cfa(struct frame_state *state)
{
	state->saved_cfa = FRAME_UNKNOWN;
	state->saved_cfa_at = state->saved_cfa_offset = 0;
}

static void forget_alias(struct frame_state *state)
{
	state->alias = state->alias_reg = 0;
	state->alias_offset = 0;
}

/* What was saved below the stack pointer may be overwritten at any time. */
static void forget_below(struct frame_state *state)
{
	if (state->saved_fp && state->saved_fp == state->sp &&
	    state->saved_fp_at < state->sp_offset - RED_ZONE_BYTES)
		forget_saved_fp(state);
	if (state->saved_cfa && state->saved_cfa == state->sp &&
	    state->saved_cfa_at < state->sp_offset - RED_ZONE_BYTES)
		forget_saved_cfa(state);
}

static void set_sp(struct frame_state *state, struct place place)
{
	state->sp = is_place(place.value) ? place.value : FRAME_UNKNOWN;
	state->sp_offset = is_place(place.value) ? place.offset : 0;
	forget_below(state);
}

static void set_alias(struct frame_state *state, uint8_t reg, struct place place)
{
	/* One is kept: the last one; what is not a place of the CFA takes nothing away but its own register's. */
	if (place.value == FRAME_CFA) {
		state->alias = FRAME_CFA;
		state->alias_reg = reg;
		state->alias_offset = place.offset;
	} else if (state->alias && state->alias_reg == reg)
		forget_alias(state);
}

/* `reg` holds `place` from now on. */
static void set_reg(struct frame_state *state, uint8_t reg, struct place place)
{
	if (reg == GB_REG_SP) {
		set_sp(state, place);
	} else if (reg == GB_REG_FP) {
		state->fp = place.value;
		state->fp_offset = place.offset;
	} else if (reg < GB_REG_SP) {
		set_alias(state, reg, place);
	}
}

static const struct place unknown = {FRAME_UNKNOWN, 0};

static void forget_written(struct frame_state *state, uint32_t written)
{
	if (written >> GB_REG_SP & 1)
		set_sp(state, unknown);
	if (written >> GB_REG_FP & 1)
		set_reg(state, GB_REG_FP, unknown);
	if (state->alias && written >> state->alias_reg & 1)
		set_alias(state, state->alias_reg, unknown);
}

static bool is_at(struct place place, uint8_t base, int32_t at)
{
	return base && place.value == base && place.offset == at;
}

/* The word at `place` gets what `reg` holds. */
static void store(struct frame_state *state, struct place place, uint8_t reg)
{
	struct place value = place_of(state, reg);

	if (!is_place(place.value))
		return;
	if (reg == GB_REG_FP && state->fp == FRAME_CALLERS) {
		state->saved_fp = place.value;
		state->saved_fp_at = place.offset;
	} else if (is_at(place, state->saved_fp, state->saved_fp_at))
		forget_saved_fp(state);
	if (place.value == FRAME_ALIGNED && value.value == FRAME_CFA) {
		state->saved_cfa = FRAME_ALIGNED;
		state->saved_cfa_at = place.offset;
		state->saved_cfa_offset = value.offset;
	} else if (is_at(place, state->saved_cfa, state->saved_cfa_at))
		forget_saved_cfa(state);
}

/* `reg` gets the word at `place`. */
static void load(struct frame_state *state, uint8_t reg, struct place place)
{
	struct place value = unknown;

	if (is_at(place, state->saved_cfa, state->saved_cfa_at))
		value = (struct place){FRAME_CFA, state->saved_cfa_offset};
	else if (reg == GB_REG_FP && is_at(place, state->saved_fp, state->saved_fp_at))
		value = (struct place){FRAME_CALLERS, 0};
	set_reg(state, reg, value);
}

static void push(struct frame_state *state, const struct instruction *instruction)
{
	set_sp(state, moved(place_of(state, GB_REG_SP), -instruction->value));
	store(state, place_of(state, GB_REG_SP), instruction->source);
}

static void pop(struct frame_state *state, const struct instruction *instruction)
{
	struct place from = place_of(state, GB_REG_SP);

	set_sp(state, moved(from, instruction->value));
	forget_written(state, instruction->written & ~(1u << GB_REG_SP));
	if (instruction->target < GB_REG_COUNT)
		load(state, instruction->target, from);
}

static void align(struct frame_state *state, uint8_t reg)
{
	if (reg != GB_REG_SP) {
		set_reg(state, reg, unknown);
		return;
	}
	/* What was measured from the place before cannot be found from this one. */
	if (state->fp == FRAME_ALIGNED)
		set_reg(state, GB_REG_FP, unknown);
	if (state->saved_fp == FRAME_ALIGNED)
		forget_saved_fp(state);
	forget_saved_cfa(state);
	set_sp(state, (struct place){FRAME_ALIGNED, 0});
}

static void leave(struct frame_state *state)
{
	struct place from = place_of(state, GB_REG_FP);

	set_sp(state, moved(from, 8));
	load(state, GB_REG_FP, from);
}

/*
 * xor %ebp, %ebp; pop: a new thread, on a new stack, marks that there is no frame before it, and takes what it is to call
 * from where a return address would be.
 */
static bool starts_thread(const struct frame_state *state, const struct instruction *instruction)
{
	return instruction->kind == INSTRUCTION_POP && state->fp == FRAME_ZERO &&
	       state->fp_offset == ZERO_JUST_NOW && state->sp == FRAME_CFA &&
	       state->sp_offset == GB_RETURN_AT;
}

void frame_state_step(struct frame_state *state, const struct instruction *instruction)
{
	struct place from = place_of(state, instruction->source);

	if (state->is_conflict || state->is_outermost)
		return;
	if (starts_thread(state, instruction)) {
		*state = frame_state_outermost();
		return;
	}
	if (state->fp == FRAME_ZERO)
		state->fp_offset = 0;
	switch (instruction->kind) {
	case INSTRUCTION_PUSH:
		push(state, instruction);
		break;
	case INSTRUCTION_POP:
		pop(state, instruction);
		break;
	case INSTRUCTION_MOVE:
		set_reg(state, instruction->target, from);
		break;
	case INSTRUCTION_ADD:
		if (instruction->target == GB_REG_SP || instruction->target == GB_REG_FP ||
		    instruction->source == instruction->target)
			set_reg(state, instruction->target, moved(from, instruction->value));
		else
			set_reg(state, instruction->target, unknown);
		break;
	case INSTRUCTION_ZERO:
		set_reg(state, instruction->target, (struct place){FRAME_ZERO, ZERO_JUST_NOW});
		break;
	case INSTRUCTION_ALIGN:
		align(state, instruction->target);
		break;
	case INSTRUCTION_LOAD:
		load(state, instruction->target, moved(from, instruction->value));
		break;
	case INSTRUCTION_STORE:
		store(state, moved(place_of(state, instruction->target), instruction->value),
		      instruction->source);
		break;
	case INSTRUCTION_LEAVE:
		leave(state);
		break;
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_INDIRECT:
		forget_written(state, machine_scratch_registers);
		break;
	default:
		forget_written(state, instruction->written);
	}
	/* The return address is gone from its place: it may come back elsewhere, as in V8, where nobody knows. */
	if (state->sp == FRAME_CFA && state->sp_offset > GB_RETURN_AT)
		*state = conflict();
}

struct frame_state frame_state_meet(const struct frame_state *left, const struct frame_state *right)
{
	struct frame_state both = *left;

	if (!memcmp(left, right, sizeof(*left)))
		return *left;
	if (left->is_conflict || right->is_conflict || left->is_outermost != right->is_outermost)
		return conflict();
	if (left->sp != right->sp || left->sp_offset != right->sp_offset) {
		if (left->fp != FRAME_CFA || right->fp != FRAME_CFA ||
		    left->fp_offset != right->fp_offset)
			return conflict();
		set_sp(&both, unknown);
	}
	if (left->fp != right->fp || left->fp_offset != right->fp_offset)
		set_reg(&both, GB_REG_FP, unknown);
	if (left->saved_fp != right->saved_fp || left->saved_fp_at != right->saved_fp_at)
		forget_saved_fp(&both);
	if (left->alias != right->alias || left->alias_reg != right->alias_reg ||
	    left->alias_offset != right->alias_offset)
		forget_alias(&both);
	if (left->saved_cfa != right->saved_cfa || left->saved_cfa_at != right->saved_cfa_at ||
	    left->saved_cfa_offset != right->saved_cfa_offset)
		forget_saved_cfa(&both);
	return both;
}

bool frame_state_can_return(const struct frame_state *state)
{
	return state->sp == FRAME_CFA && state->sp_offset == GB_RETURN_AT;
}

bool frame_state_is_balanced(const struct frame_state *state)
{
	return frame_state_can_return(state) && state->fp == FRAME_CALLERS;
}

/*
 * Where the CFA is found from. A frame pointer is best, where there is one: it is right also behind calls of functions that
 * take their arguments off the stack (V8's).
 */
static bool describe_cfa(const struct frame_state *state, struct cfa_state *out)
{
	uint32_t how = out->how;

	if (state->fp == FRAME_CFA) {
		out->how = HOW_WITH_CFA(how, CFA_IS_REG, MACHINE_REG_FP);
		out->cfa_off = -state->fp_offset;
	} else if (state->sp == FRAME_CFA) {
		out->how = HOW_WITH_CFA(how, CFA_IS_REG, MACHINE_REG_SP);
		out->cfa_off = -state->sp_offset;
	} else if (state->saved_cfa && state->sp == FRAME_ALIGNED) {
		out->how = HOW_WITH_CFA(how, CFA_IS_DEREF, MACHINE_REG_SP);
		out->cfa_off = state->saved_cfa_at - state->sp_offset;
		out->cfa_add = (int16_t)-state->saved_cfa_offset;
		return out->cfa_add == -state->saved_cfa_offset;
	} else if (state->saved_cfa && state->fp == FRAME_ALIGNED) {
		out->how = HOW_WITH_CFA(how, CFA_IS_DEREF, MACHINE_REG_FP);
		out->cfa_off = state->saved_cfa_at - state->fp_offset;
		out->cfa_add = (int16_t)-state->saved_cfa_offset;
		return out->cfa_add == -state->saved_cfa_offset;
	} else if (state->alias == FRAME_CFA) {
		out->how = HOW_WITH_CFA(how, CFA_IS_REG, machine_dwarf_reg(state->alias_reg));
		out->cfa_off = -state->alias_offset;
	} else {
		return false;
	}
	return true;
}

bool frame_state_describe(const struct frame_state *state, struct cfa_state *out)
{
	*out = (struct cfa_state){0};
	if (state->is_outermost) {
		out->how = HOW_WITH_CFA(HOW_WITH_RA(0, RA_IS_UNDEFINED), CFA_IS_NOTHING, 0);
		return true;
	}
	if (state->is_conflict || !describe_cfa(state, out))
		return false;
	if (state->fp == FRAME_CALLERS) {
		out->how = HOW_WITH_FP(out->how, FP_IS_SAME);
	} else if (state->saved_fp == FRAME_CFA) {
		out->how = HOW_WITH_FP(out->how, FP_IS_CFA);
		out->fp_off = state->saved_fp_at;
	} else {
		out->how = HOW_WITH_FP(out->how, FP_IS_UNDEFINED);
	}
	return true;
}
