/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw.h - unwinds a raw sample, registers and a copy of the stack, as the kernel would have done: the same code
 * (geckobpf_unwind.h) over the same tables.
 */
#ifndef GECKOBPF_UNWIND_RAW_H
#define GECKOBPF_UNWIND_RAW_H

#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct table_store;

struct raw_stack {
	const uint64_t *regs; /* GB_RAW_REGS of them: enum gb_reg */
	const uint64_t *words; /* stack memory from SP on */
	size_t word_count;
	const struct gb_mapping *mappings; /* sorted, nothing overlaps */
	size_t mapping_count; /* 0: not known */
};

/*
 * Writes the user words of a sample (struct gb_sample), at most GB_MAX_USER_WORDS; returns how many. *end gets the enum
 * gb_stack_end.
 */
uint32_t raw_unwind(const struct table_store *store, const struct raw_stack *stack, uint64_t *words,
		    uint8_t *end);

#endif
