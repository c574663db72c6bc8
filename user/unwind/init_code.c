/* SPDX-License-Identifier: BSD-2-Clause */
/* init_code.c - see init_code.h. */
#include "unwind/init_code.h"
#include "elf/elf_file.h"
#include "unwind/arch.h"

#define CODE_MAX_BYTES 512 /* old compilers put calls in there */

void init_code_find(struct init_code *init, const struct elf_code *code,
		    const struct elf_part *part, uint64_t text, uint64_t text_bytes)
{
	uint8_t bytes[CODE_MAX_BYTES];
	uint64_t start = part->address - text;
	size_t pushed, popped;

	*init = (struct init_code){0};
	if (!part->bytes || part->bytes > sizeof(bytes) || part->address < text ||
	    start >= text_bytes || part->bytes > text_bytes - start)
		return;
	if (elf_code_peek(code, part->address, bytes, part->bytes) < part->bytes ||
	    !machine_is_init(bytes, part->bytes, &pushed, &popped))
		return;
	init->start = (uint32_t)start;
	init->end = (uint32_t)(start + part->bytes);
	init->pushed = (uint32_t)(start + pushed);
	init->popped = (uint32_t)(start + popped);
}

void init_code_find_entry(struct init_code *init, const struct elf_code *code, uint64_t text,
			  uint64_t text_bytes)
{
	uint64_t entry = code->file->entry, start = entry - text;
	uint8_t bytes[MACHINE_ENTRY_MAX_BYTES];
	size_t length;

	*init = (struct init_code){0};
	if (entry < text || start >= text_bytes)
		return;
	length = machine_entry_length(bytes, elf_code_peek(code, entry, bytes, sizeof(bytes)));
	if (!length || length > text_bytes - start)
		return;
	*init = (struct init_code){
		.start = (uint32_t)start, .end = (uint32_t)(start + length), .is_entry = true};
}

/* From `offset` on the CFA is SP + cfa_off, and all registers are the caller's. */
static int add_row(struct row_builder *builder, struct rule_set *rules, uint32_t offset,
		   int32_t cfa_off)
{
	struct cfa_state state = {.how = HOW_WITH_CFA(0, CFA_IS_REG, MACHINE_REG_SP),
				  .cfa_off = cfa_off};
	uint32_t rule;
	int err = rule_set_number(rules, cfa_key_of(&state), &rule);

	if (!err)
		err = row_builder_reserve(builder, 1, offset);
	if (!err)
		row_builder_add(builder, offset, rule);
	return err;
}

static int add_entry(struct row_builder *builder, uint32_t offset)
{
	int err = row_builder_reserve(builder, 1, offset);

	if (!err)
		row_builder_add(builder, offset, RULE_END);
	return err;
}

int init_code_add(const struct init_code *init, struct row_builder *builder, struct rule_set *rules)
{
	int err;

	if (init->is_entry)
		return add_entry(builder, init->start);
	err = add_row(builder, rules, init->start, -GB_RETURN_AT);
	if (!err)
		err = add_row(builder, rules, init->pushed, -2 * GB_RETURN_AT);
	if (!err)
		err = add_row(builder, rules, init->popped, -GB_RETURN_AT);
	return err;
}
