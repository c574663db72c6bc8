/* SPDX-License-Identifier: BSD-2-Clause */
/* cfa_expression.c - see cfa_expression.h. */
#include "unwind/cfa_expression.h"
#include "unwind/dwarf_cfi.h"

static bool read_register(struct cursor *bytes, struct cfa_expression *expression)
{
	uint8_t op;

	if (!cursor_u8(bytes, &op))
		return false;
	expression->reg = (uint64_t)(op - OP_BREG0);
	if (op == OP_BREGX && !cursor_uleb(bytes, &expression->reg))
		return false;
	if (op != OP_BREGX && (op < OP_BREG0 || op > OP_BREG31))
		return false;
	return cursor_sleb(bytes, &expression->offset);
}

static bool read_constant(struct cursor *bytes, uint8_t op, int64_t *number)
{
	uint64_t value;
	bool read;

	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*number = op - OP_LIT0;
		return true;
	}
	if (op == OP_CONSTS)
		return cursor_sleb(bytes, number);
	if (op == OP_CONSTU)
		read = cursor_uleb(bytes, &value);
	else if (op >= OP_CONST1U && op <= OP_CONST8S)
		read = cursor_fixed(bytes, 1u << (op - OP_CONST1U) / 2, op & 1, &value);
	else
		return false;
	if (read)
		*number = (int64_t)value;
	return read;
}

/* A number, and that it is added or subtracted. */
static bool read_sum(struct cursor *bytes, uint8_t op, int64_t *number)
{
	uint64_t value;

	if (op == OP_PLUS_UCONST) {
		if (!cursor_uleb(bytes, &value))
			return false;
		*number = (int64_t)value;
		return true;
	}
	if (!read_constant(bytes, op, number) || !cursor_u8(bytes, &op))
		return false;
	if (op == OP_MINUS)
		return !__builtin_sub_overflow((int64_t)0, *number, number);
	return op == OP_PLUS;
}

/* breg..., with an offset of 0; lit8; mul; plus. */
static bool read_index(struct cursor *bytes, struct cfa_expression *expression)
{
	static const uint8_t rest[] = {OP_LIT0 + 8, OP_MUL, OP_PLUS};
	struct cfa_expression index;
	uint8_t op;
	size_t i;

	if (expression->is_indexed || expression->is_deref || !read_register(bytes, &index) ||
	    index.offset)
		return false;
	for (i = 0; i < sizeof(rest); i++)
		if (!cursor_u8(bytes, &op) || op != rest[i])
			return false;
	expression->is_indexed = true;
	expression->index = index.reg;
	return true;
}

bool cfa_expression_parse(struct cfa_expression *expression, struct cursor bytes)
{
	struct cfa_expression parsed = {0};
	int64_t *sum = &parsed.offset;
	int64_t number;
	struct cursor before;
	uint8_t op;

	if (!read_register(&bytes, &parsed))
		return false;
	for (before = bytes; cursor_u8(&bytes, &op); before = bytes) {
		if (op >= OP_BREG0 && op <= OP_BREG31) {
			bytes = before;
			if (!read_index(&bytes, &parsed))
				return false;
		} else if (op == OP_DEREF && !parsed.is_deref) {
			parsed.is_deref = true;
			sum = &parsed.add;
		} else if (!read_sum(&bytes, op, &number) ||
			   __builtin_add_overflow(*sum, number, sum)) {
			return false;
		}
	}
	if (parsed.is_indexed && !parsed.is_deref)
		return false;
	*expression = parsed;
	return true;
}
