/* SPDX-License-Identifier: BSD-2-Clause */
/* other_code.c - see other_code.h. */
#include "unwind/other_code.h"

int other_code_open(struct other_code *other, const struct elf_code *code, uint64_t text,
		    uint64_t text_bytes)
{
	init_code_find(&other->init[0], code, &code->init, text, text_bytes);
	init_code_find(&other->init[1], code, &code->fini, text, text_bytes);
	init_code_find_entry(&other->init[2], code, text, text_bytes);
	return go_code_open(&other->go, code, text, text_bytes);
}

void other_code_close(struct other_code *other)
{
	go_code_close(&other->go);
	*other = (struct other_code){0};
}

void other_code_rewind(struct other_code *other, bool tracks_reg)
{
	go_code_rewind(&other->go, tracks_reg);
}

/* Go code may be met in pieces. */
static bool next_go(const struct go_code *go, uint32_t start, uint64_t end,
		    struct code_range *range)
{
	*range = (struct code_range){.start = start > go->start ? start : go->start,
				     .end = end < go->end ? (uint32_t)end : go->end};
	return range->start < range->end;
}

bool other_code_next(const struct other_code *other, uint32_t start, uint64_t end,
		     struct code_range *range)
{
	bool is_found = next_go(&other->go, start, end, range);
	int i;

	for (i = 0; i < OTHER_CODE_INITS; i++) {
		const struct init_code *init = &other->init[i];

		if (init->start == init->end || init->start < start || init->end > end)
			continue;
		if (is_found && range->start <= init->start)
			continue;
		*range = (struct code_range){init->start, init->end, init};
		is_found = true;
	}
	return is_found;
}

int other_code_add(struct other_code *other, const struct code_range *range,
		   struct row_builder *builder, struct rule_set *rules)
{
	if (range->init)
		return init_code_add(range->init, builder, rules);
	return go_code_add(&other->go, range->start, range->end, builder, rules);
}
