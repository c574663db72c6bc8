/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_rule.h - finds a rule in an unwind table as the unwinder in the kernel does. */
#ifndef GECKOBPF_TESTS_UNWIND_RULE_H
#define GECKOBPF_TESTS_UNWIND_RULE_H

#include "unwind/row_builder.h"
#include "unwind/table.h"

/* For `address`, a virtual address of the file; NULL: outside. */
static inline const struct gb_unwind_rule *unwind_table_find(const struct unwind_table *table,
							     uint64_t address)
{
	uint64_t page = (address >> UNWIND_PAGE_BITS) - table->first_page;
	uint32_t offset = ROW_OFFSET((uint32_t)address);
	uint32_t low, high;

	if (page >= table->page_count)
		return NULL;
	low = table->pages[page].first;
	high = low + table->pages[page].count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (ROW_OFFSET(table->rows[middle]) <= offset)
			low = middle;
		else
			high = middle;
	}
	return &table->rules[ROW_RULE(table->rows[low])];
}

#endif
