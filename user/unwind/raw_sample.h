/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_sample.h - unwinds a raw sample, registers and a copy of the stack, as the kernel would have done: the same code
 * (geckobpf_unwind.h) over the same tables.
 */
#ifndef GECKOBPF_UNWIND_RAW_SAMPLE_H
#define GECKOBPF_UNWIND_RAW_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct table_store;

/* What the record has of user code, and the mappings of its process. */
struct raw_sample {
	const uint64_t *regs; /* GB_RAW_REGS of them: enum gb_reg */
	const uint64_t *words; /* stack memory from SP on */
	size_t word_count;
	const struct gb_mapping *mappings; /* sorted, nothing overlaps */
	size_t mapping_count; /* 0: not known */
};

/*
 * Writes the user words of an ordinary sample (struct gb_sample), at most GB_MAX_USER_WORDS; returns how many. *end gets
 * the enum gb_stack_end. *awaited: the first of the sample's mappings on the way of which the table is yet to come
 * (GB_MAPPING_AWAITED), so that the stack will be another then; NULL: there is none.
 */
uint32_t raw_sample_unwind(const struct table_store *store, const struct raw_sample *sample,
			   uint64_t *words, uint8_t *end, const struct gb_mapping **awaited);

#endif
