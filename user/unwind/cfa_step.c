/* SPDX-License-Identifier: BSD-2-Clause */
/* cfa_step.c - see cfa_step.h. */
#include "unwind/cfa_step.h"
#include "unwind/cfa_expression.h"
#include "unwind/dwarf_cfi.h"
#include "unwind/arch.h"

const struct cfa_state cfa_state_unknown = {
	.how = HOW_WITH_RA(HOW_WITH_CFA(0, CFA_IS_NOTHING, 0), RA_IS_STRANGE),
};

/* Where the caller's value of a register is. */
enum saved_where {
	SAVED_SAME,
	SAVED_UNDEFINED,
	SAVED_AT_CFA, /* *(CFA + value) */
	SAVED_IN_REG, /* DWARF register `value` */
	SAVED_AT_FP, /* *(FP + value) */
	SAVED_AT_SP, /* *(SP + value) */
	SAVED_STRANGE,
};

struct saved {
	enum saved_where where;
	int64_t value;
};

static bool fits_s32(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

static void save_fp(struct cfa_state *state, struct saved saved)
{
	enum fp_is is = FP_IS_STRANGE;

	state->fp_off = 0;
	if (saved.where == SAVED_SAME)
		is = FP_IS_SAME;
	else if (saved.where == SAVED_UNDEFINED)
		is = FP_IS_UNDEFINED;
	else if (saved.where == SAVED_AT_CFA && fits_s32(saved.value))
		is = FP_IS_CFA;
	else if (saved.where == SAVED_AT_FP && fits_s32(saved.value))
		is = FP_IS_FP;
	else if (saved.where == SAVED_AT_SP && fits_s32(saved.value))
		is = FP_IS_SP;
	if (is == FP_IS_CFA || is == FP_IS_FP || is == FP_IS_SP)
		state->fp_off = (int32_t)saved.value;
	state->how = HOW_WITH_FP(state->how, is);
}

static void save_ra(struct cfa_state *state, struct saved saved)
{
	uint32_t is = RA_IS_STRANGE;

	if (saved.where == SAVED_UNDEFINED)
		is = RA_IS_UNDEFINED;
	else if (saved.where == SAVED_AT_CFA && saved.value == GB_RETURN_AT)
		is = RA_IS_CFA;
	else if (saved.where == SAVED_IN_REG && saved.value >= 0 && saved.value < MACHINE_REG_RA)
		is = RA_IS_REG + (uint32_t)saved.value;
	state->how = HOW_WITH_RA(state->how, is);
}

static void save_tracked(struct cfa_state *state, struct saved saved)
{
	state->tracked_off = TRACKED_STRANGE;
	if (saved.where == SAVED_SAME)
		state->tracked_off = 0;
	else if (saved.where == SAVED_AT_CFA && saved.value && saved.value > TRACKED_STRANGE &&
		 saved.value <= INT16_MAX)
		state->tracked_off = (int16_t)saved.value;
}

static void save(struct cfa_run *run, uint64_t reg, struct saved saved)
{
	if (reg == run->cie->ra_column)
		save_ra(&run->state, saved);
	else if (reg == MACHINE_REG_FP)
		save_fp(&run->state, saved);
	else if (reg == MACHINE_REG_TRACKED && run->machine->tracks_reg)
		save_tracked(&run->state, saved);
}

/* Unsigned operands: what does not fit stays too large. */
static int64_t clamp(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

/* `factored` times the data alignment; what does not fit stays too large. */
static int64_t factor(const struct cfa_run *run, int64_t factored)
{
	int64_t value;

	if (__builtin_mul_overflow(factored, run->cie->data_align, &value))
		return INT64_MAX;
	return value;
}

static struct saved at_cfa(const struct cfa_run *run, int64_t factored)
{
	return (struct saved){SAVED_AT_CFA, factor(run, factored)};
}

static struct saved at_expression(struct cursor bytes)
{
	struct cfa_expression expression;

	if (!cfa_expression_parse(&expression, bytes) || expression.is_deref)
		return (struct saved){SAVED_STRANGE, 0};
	if (expression.reg == MACHINE_REG_SP)
		return (struct saved){SAVED_AT_SP, expression.offset};
	return (struct saved){expression.reg == MACHINE_REG_FP ? SAVED_AT_FP : SAVED_STRANGE,
			      expression.offset};
}

static void restore(struct cfa_run *run, uint64_t reg)
{
	const struct cfa_state *initial = run->initial;
	struct cfa_state *state = &run->state;

	if (reg == run->cie->ra_column) {
		state->how = HOW_WITH_RA(state->how, HOW_RA(initial->how));
	} else if (reg == MACHINE_REG_FP) {
		state->how = HOW_WITH_FP(state->how, HOW_FP(initial->how));
		state->fp_off = initial->fp_off;
	} else if (reg == MACHINE_REG_TRACKED) {
		state->tracked_off = initial->tracked_off;
	}
}

static void set_cfa(struct cfa_state *state, uint32_t is, uint64_t reg, int64_t offset, int64_t add)
{
	if (reg >= MACHINE_REG_COUNT || add < INT16_MIN || add > INT16_MAX)
		is = CFA_IS_STRANGE;
	else if (!fits_s32(offset))
		is = is == CFA_IS_REG ? CFA_IS_REG_FAR : CFA_IS_STRANGE;
	if (is == CFA_IS_STRANGE)
		reg = 0;
	if (is == CFA_IS_STRANGE || is == CFA_IS_REG_FAR)
		offset = add = 0;
	state->how = HOW_WITH_CFA(state->how, is, reg);
	state->cfa_off = (int32_t)offset;
	state->cfa_add = (int16_t)add;
}

/* A new offset for the register that the CFA is relative to already. */
static void set_cfa_offset(struct cfa_state *state, int64_t offset)
{
	uint32_t is = HOW_CFA(state->how);

	if (is != CFA_IS_REG && is != CFA_IS_REG_FAR)
		set_cfa(state, CFA_IS_STRANGE, 0, 0, 0);
	else
		set_cfa(state, CFA_IS_REG, HOW_CFA_REG(state->how), offset, 0);
}

static void set_cfa_reg(struct cfa_state *state, uint64_t reg)
{
	uint32_t is = HOW_CFA(state->how);

	if (is != CFA_IS_REG && is != CFA_IS_REG_FAR)
		is = CFA_IS_STRANGE;
	set_cfa(state, is, reg, state->cfa_off, 0);
}

static void set_cfa_expression(struct cfa_state *state, struct cursor bytes)
{
	int plt = machine_cfa_expression(bytes.at, cursor_left(&bytes));
	struct cfa_expression parsed;

	if (plt)
		set_cfa(state, plt == GB_CFA_PLT11 ? CFA_IS_PLT11 : CFA_IS_PLT10, 0, 0, 0);
	else if (!cfa_expression_parse(&parsed, bytes) ||
		 (parsed.is_indexed && parsed.reg != MACHINE_REG_SP))
		set_cfa(state, CFA_IS_STRANGE, 0, 0, 0);
	else if (parsed.is_indexed)
		set_cfa(state, CFA_IS_INDEXED, parsed.index, parsed.offset, parsed.add);
	else
		set_cfa(state, parsed.is_deref ? CFA_IS_DEREF : CFA_IS_REG, parsed.reg,
			parsed.offset, parsed.add);
}

static bool remember(struct cfa_run *run)
{
	if (run->depth == CFA_STACK_MAX)
		return false;
	run->stack[run->depth++] = cfa_key_of(&run->state);
	return true;
}

static bool recall(struct cfa_run *run)
{
	if (!run->depth)
		return false;
	run->state = cfa_state_of(run->stack[--run->depth]);
	return true;
}

/* Instructions of a register and a number, which may be signed. */
static bool step_two(struct cfa_run *run, uint8_t op)
{
	bool is_signed =
		op == CFA_OFFSET_EXTENDED_SF || op == CFA_DEF_CFA_SF || op == CFA_VAL_OFFSET_SF;
	uint64_t reg, number;
	int64_t value;

	if (!cursor_uleb(&run->in, &reg))
		return false;
	if (is_signed ? !cursor_sleb(&run->in, &value) : !cursor_uleb(&run->in, &number))
		return false;
	if (!is_signed)
		value = clamp(number);
	switch (op) {
	case CFA_DEF_CFA:
		set_cfa(&run->state, CFA_IS_REG, reg, value, 0);
		break;
	case CFA_DEF_CFA_SF:
		set_cfa(&run->state, CFA_IS_REG, reg, factor(run, value), 0);
		break;
	case CFA_REGISTER:
		save(run, reg, (struct saved){SAVED_IN_REG, value});
		break;
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		save(run, reg, (struct saved){SAVED_STRANGE, 0});
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		save(run, reg, at_cfa(run, -value));
		break;
	default:
		save(run, reg, at_cfa(run, value));
	}
	return true;
}

/* Instructions of a register and no number. */
static bool step_register(struct cfa_run *run, uint8_t op)
{
	uint64_t reg;

	if (!cursor_uleb(&run->in, &reg))
		return false;
	if (op == CFA_RESTORE_EXTENDED)
		restore(run, reg);
	else if (op == CFA_UNDEFINED)
		save(run, reg, (struct saved){SAVED_UNDEFINED, 0});
	else if (op == CFA_SAME_VALUE)
		save(run, reg, (struct saved){SAVED_SAME, 0});
	else
		set_cfa_reg(&run->state, reg);
	return true;
}

/* Instructions with an expression. */
static bool step_expression(struct cfa_run *run, uint8_t op)
{
	struct cursor bytes;
	uint64_t reg, size;

	if (op != CFA_DEF_CFA_EXPRESSION && !cursor_uleb(&run->in, &reg))
		return false;
	if (!cursor_uleb(&run->in, &size) || !cursor_split(&run->in, size, &bytes))
		return false;
	if (op == CFA_DEF_CFA_EXPRESSION)
		set_cfa_expression(&run->state, bytes);
	else if (op == CFA_EXPRESSION)
		save(run, reg, at_expression(bytes));
	else
		save(run, reg, (struct saved){SAVED_STRANGE, 0});
	return true;
}

/* Instructions of a number alone. */
static bool step_number(struct cfa_run *run, uint8_t op)
{
	uint64_t number;
	int64_t factored;

	if (op == CFA_DEF_CFA_OFFSET_SF) {
		if (!cursor_sleb(&run->in, &factored))
			return false;
		set_cfa_offset(&run->state, factor(run, factored));
		return true;
	}
	if (!cursor_uleb(&run->in, &number))
		return false;
	if (op == CFA_DEF_CFA_OFFSET)
		set_cfa_offset(&run->state, clamp(number));
	return true;
}

/* An absolute location: never before where we are. */
static bool step_set_loc(struct cfa_run *run, uint64_t *advance)
{
	const struct eh_frame *frame = run->machine->frame;
	struct pointer_base base = {frame->bytes, frame->address};
	uint64_t address, here = frame->text + run->start + run->pc;

	if (!pointer_read(&run->in, run->cie->encoding, &base, &address) || address < here)
		return false;
	*advance = address - here;
	return true;
}

static bool step_advance(struct cfa_run *run, uint8_t op, uint64_t *advance)
{
	unsigned int size = op == CFA_ADVANCE_LOC1 ? 1 : op == CFA_ADVANCE_LOC2 ? 2 : 4;
	uint64_t delta;

	if (!cursor_fixed(&run->in, size, false, &delta))
		return false;
	*advance = delta * run->cie->code_align;
	return true;
}

static bool step_extended(struct cfa_run *run, uint8_t op, uint64_t *advance)
{
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_SET_LOC:
		return step_set_loc(run, advance);
	case CFA_ADVANCE_LOC1:
	case CFA_ADVANCE_LOC2:
	case CFA_ADVANCE_LOC4:
		return step_advance(run, op, advance);
	case CFA_RESTORE_EXTENDED:
	case CFA_UNDEFINED:
	case CFA_SAME_VALUE:
	case CFA_DEF_CFA_REGISTER:
		return step_register(run, op);
	case CFA_REMEMBER_STATE:
		return remember(run);
	case CFA_RESTORE_STATE:
		return recall(run);
	case CFA_OFFSET_EXTENDED:
	case CFA_OFFSET_EXTENDED_SF:
	case CFA_REGISTER:
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return step_two(run, op);
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
	case CFA_GNU_ARGS_SIZE:
		return step_number(run, op);
	case CFA_DEF_CFA_EXPRESSION:
	case CFA_EXPRESSION:
	case CFA_VAL_EXPRESSION:
		return step_expression(run, op);
	}
	return false;
}

bool cfa_step(struct cfa_run *run, uint64_t *advance)
{
	uint8_t op, operand;
	uint64_t number;

	*advance = 0;
	if (!cursor_u8(&run->in, &op))
		return false;
	operand = op & CFA_OPERAND_MASK;
	switch (op & ~CFA_OPERAND_MASK) {
	case CFA_ADVANCE_LOC:
		*advance = operand * run->cie->code_align;
		return true;
	case CFA_OFFSET:
		if (!cursor_uleb(&run->in, &number))
			return false;
		save(run, operand, at_cfa(run, clamp(number)));
		return true;
	case CFA_RESTORE:
		restore(run, operand);
		return true;
	}
	return step_extended(run, op, advance);
}
