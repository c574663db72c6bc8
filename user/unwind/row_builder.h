/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_builder.h - packs (offset in the text, rule) pairs, in rising order, into the rows and pages of a table.
 *
 * Whatever holds at the end of a page is repeated at the start of the next; see table.h for the layout.
 */
#ifndef GECKOBPF_UNWIND_ROW_BUILDER_H
#define GECKOBPF_UNWIND_ROW_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table.h"

#define ROW(offset, rule) ((uint32_t)(rule) << UNWIND_PAGE_BITS | (uint32_t)(offset))
#define ROW_OFFSET(row) ((row) & ((1u << UNWIND_PAGE_BITS) - 1))
#define ROW_RULE(row) ((row) >> UNWIND_PAGE_BITS)

struct cfa_row;

struct row_builder {
	struct unwind_page *pages;
	uint32_t page_count;
	uint32_t page; /* the one being filled */
	uint32_t page_first; /* its first row */
	uint32_t rule; /* holds from the last row on */
	uint32_t dense_rule; /* for pages with too many rows */
	uint64_t dense_pages;
	uint32_t *rows;
	size_t row_count, row_capacity;
};

/*
 * page_count > 0. `rule` holds from offset 0 on, and in pages that get too many rows. There will be
 * about `rows` of them. 0 or -ENOMEM. row_builder_close() also where this failed.
 */
int row_builder_open(struct row_builder *builder, uint32_t page_count, size_t rows, uint32_t rule);
void row_builder_close(struct row_builder *builder);

/* Room for `rows` more row_builder_add() that end before `end`, an offset in the text. 0; -EFBIG: there are too many; -ENOMEM. */
int row_builder_reserve(struct row_builder *builder, size_t rows, uint64_t end);

/* Goes on to the page `page` < page_count. */
void row_builder_turn(struct row_builder *builder, uint32_t page);

/* What the last row says is not to be believed, nor is there more: `rule` holds from there on. */
void row_builder_cut(struct row_builder *builder, uint32_t rule);

/* Fills all pages that are left, and makes `rows` no larger than needed. 0 or -ENOMEM. */
int row_builder_finish(struct row_builder *builder);

/*
 * `rule` holds from `offset` on. Offsets rise, or repeat the last one to replace its rule; there must be room.
 */
static inline void row_builder_add(struct row_builder *builder, uint32_t offset, uint32_t rule)
{
	uint32_t in_page = offset & ((1u << UNWIND_PAGE_BITS) - 1);

	if (builder->page != offset >> UNWIND_PAGE_BITS)
		row_builder_turn(builder, offset >> UNWIND_PAGE_BITS);
	if (builder->rule == rule)
		return;
	builder->rule = rule;
	if (ROW_OFFSET(builder->rows[builder->row_count - 1]) == in_page)
		builder->row_count--;
	builder->rows[builder->row_count++] = ROW(in_page, rule);
}

/*
 * The same for `count` rows of a function that starts at `start`: their offsets rise from 0, rules
 * differ from one to the next.
 */
void row_builder_add_rows(struct row_builder *builder, uint32_t start, const struct cfa_row *rows,
			  size_t count);

#endif
