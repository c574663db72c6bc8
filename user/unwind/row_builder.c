/* SPDX-License-Identifier: BSD-2-Clause */
/* row_builder.c - see row_builder.h. */
#include "unwind/row_builder.h"
#include "base/array.h"
#include "base/large.h"
#include "unwind/cfa_program.h"
#include "unwind/limits.h"

#include <errno.h>
#include <stdlib.h>

/* The page being filled begins with what holds. */
static void open_page(struct row_builder *builder)
{
	builder->page_first = (uint32_t)builder->row_count;
	builder->rows[builder->row_count++] = ROW(0, builder->rule);
}

static void close_page(struct row_builder *builder)
{
	size_t count = builder->row_count - builder->page_first;

	if (count > UNWIND_MAX_ROWS_PER_PAGE) {
		builder->dense_pages++;
		builder->rows[builder->page_first] = ROW(0, builder->dense_rule);
		builder->row_count = (size_t)builder->page_first + 1;
		count = 1;
	}
	builder->pages[builder->page] = (struct unwind_page){builder->page_first, (uint32_t)count};
}

int row_builder_open(struct row_builder *builder, uint32_t page_count, size_t rows, uint32_t rule)
{
	*builder = (struct row_builder){
		.page_count = page_count,
		.rule = rule,
		.dense_rule = rule,
	};
	builder->pages = calloc(page_count, sizeof(*builder->pages));
	builder->rows = large_alloc((rows + 1) * sizeof(*builder->rows));
	if (!builder->pages || !builder->rows)
		return -ENOMEM;
	builder->row_capacity = rows + 1;
	open_page(builder);
	return 0;
}

void row_builder_close(struct row_builder *builder)
{
	free(builder->pages);
	free(builder->rows);
	*builder = (struct row_builder){0};
}

static int reserve(struct row_builder *builder, size_t rows, uint64_t end, size_t limit)
{
	size_t need = builder->row_count + rows + 1;
	uint64_t last_page = end >> UNWIND_PAGE_BITS;

	if (last_page > builder->page)
		need += last_page - builder->page;
	if (need > limit)
		return -EFBIG;
	return array_reserve((void **)&builder->rows, &builder->row_capacity, need,
			     sizeof(*builder->rows));
}

int row_builder_reserve(struct row_builder *builder, size_t rows, uint64_t end)
{
	return reserve(builder, rows, end, UNWIND_ROWS_MAX);
}

void row_builder_cut(struct row_builder *builder, uint32_t rule)
{
	uint32_t *last = &builder->rows[builder->row_count - 1];

	*last = ROW(ROW_OFFSET(*last), rule);
	builder->rule = rule;
}

void row_builder_turn(struct row_builder *builder, uint32_t page)
{
	while (builder->page < page) {
		close_page(builder);
		builder->page++;
		open_page(builder);
	}
}

/* Those of one page, the first of which has been added: returns how many. */
static size_t add_to_page(struct row_builder *builder, uint32_t start, const struct cfa_row *rows,
			  size_t count)
{
	uint32_t *out = builder->rows + builder->row_count;
	uint32_t page = builder->page;
	size_t i;

	for (i = 1; i < count; i++) {
		uint32_t offset = start + rows[i].offset;

		if (offset >> UNWIND_PAGE_BITS != page)
			break;
		*out++ = ROW(ROW_OFFSET(offset), rows[i].rule);
	}
	builder->row_count = (size_t)(out - builder->rows);
	builder->rule = rows[i - 1].rule;
	return i;
}

void row_builder_add_rows(struct row_builder *builder, uint32_t start, const struct cfa_row *rows,
			  size_t count)
{
	while (count) {
		size_t added;

		row_builder_add(builder, start + rows[0].offset, rows[0].rule);
		added = add_to_page(builder, start, rows, count);
		rows += added;
		count -= added;
	}
}

int row_builder_finish(struct row_builder *builder)
{
	uint32_t *fitted;
	int err;

	/* What was cut off needs one a page. */
	err = reserve(builder, 0, (uint64_t)builder->page_count << UNWIND_PAGE_BITS,
		      UNWIND_ROWS_MAX + UNWIND_PAGES_MAX + 1);
	if (err)
		return err;
	row_builder_turn(builder, builder->page_count - 1);
	close_page(builder);
	fitted = realloc(builder->rows, builder->row_count * sizeof(*fitted));
	if (!fitted)
		return -ENOMEM;
	builder->rows = fitted;
	return 0;
}
