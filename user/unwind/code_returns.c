/* SPDX-License-Identifier: BSD-2-Clause */
/* code_returns.c - see code_returns.h. */
#include "unwind/code_returns.h"
#include "unwind/fde_order.h"
#include "unwind/instruction.h"

#define FUNCTION_MAX_BYTES 2048 /* functions that do not return are small */
#define KNOWN_MAX 65536 /* each costs a system call */

/* The description that holds for `offset` in the text; NULL: none. */
static const struct fde *fde_of(const struct code_returns *returns, uint64_t offset)
{
	const struct eh_frame *frame = returns->frame;
	size_t low = 0, high = frame->fde_count;
	const struct fde *fde;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (frame->fdes[fde_order_index(returns->order[middle])].start <= offset)
			low = middle;
		else
			high = middle;
	}
	if (low == high)
		return NULL;
	fde = &frame->fdes[fde_order_index(returns->order[low])];
	return fde->start <= offset && offset - fde->start < fde->size ? fde : NULL;
}

/* Whether the instruction before `next` leads out of the function, whose code is [start, start + size). */
static bool leads_out(const struct instruction *instruction, uint64_t next, uint64_t start,
		      uint64_t size)
{
	switch (instruction->kind) {
	case INSTRUCTION_RETURN:
	case INSTRUCTION_JUMP_INDIRECT:
	case INSTRUCTION_JUMP_SLOT:
		return true;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
		return next + (uint64_t)instruction->value - start >= size;
	default:
		return false;
	}
}

static bool may_return(const struct code_returns *returns, uint64_t address)
{
	const struct fde *fde = fde_of(returns, address - returns->frame->text);
	uint8_t bytes[FUNCTION_MAX_BYTES];
	struct instruction instruction;
	uint64_t start;
	size_t at;

	if (!fde || fde->size > sizeof(bytes))
		return true;
	start = returns->frame->text + fde->start;
	if (elf_code_peek(returns->code, start, bytes, fde->size) < fde->size)
		return true;
	for (at = address - start; at < fde->size; at += instruction.length)
		if (!machine_decode(bytes + at, fde->size - at, &instruction) ||
		    leads_out(&instruction, start + at + instruction.length, start, fde->size))
			return true;
	return false;
}

bool code_returns_from(void *context, uint64_t address)
{
	struct code_returns *returns = context;
	uint32_t known = u64_map_get(&returns->known, address);

	if (known == U64_MAP_NONE && returns->known.count < KNOWN_MAX) {
		known = may_return(returns, address);
		/* Without memory it is asked again. */
		(void)u64_map_put(&returns->known, address, known);
	}
	return known;
}

void code_returns_close(struct code_returns *returns)
{
	u64_map_clear(&returns->known);
}
