/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_store.c - see table_store.h. What is whose is known by row_chunks.h, page_runs.h and
 * shared_rules.h; here a table is put together.
 */
#include "unwind/table_store.h"

#include "unwind/page_runs.h"
#include "unwind/row_chunks.h"
#include "unwind/shared_rules.h"
#include "unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#define OFFSET_MASK ((1U << UNWIND_PAGE_BITS) - 1)

struct stored_table {
	uint32_t page_base, page_count;
	uint64_t first_page;
	uint64_t row_count;
	uint32_t rule_count;
	uint32_t rules[]; /* numbers of the rules it uses */
};

struct table_store {
	struct unwind_memory memory;
	uint64_t table_count;
	struct row_chunks chunks;
	struct page_runs runs;
	struct shared_rules rules;
};

int table_store_open(struct table_store **out, const struct unwind_memory *memory)
{
	struct table_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->memory = *memory;
	row_chunks_open(&store->chunks, &store->memory);
	store->rules.memory = memory->rules;
	*out = store;
	return 0;
}

void table_store_close(struct table_store *store)
{
	if (!store)
		return;
	row_chunks_close(&store->chunks);
	page_runs_close(&store->runs);
	free(store);
}

struct table_store_stats table_store_get_stats(const struct table_store *store)
{
	return (struct table_store_stats){
		.tables = store->table_count,
		.rows = store->chunks.used_rows,
		.pages = store->runs.used,
		.rules = store->rules.used,
		.chunks = store->chunks.used_chunks,
		.pools = store->chunks.pool_count,
	};
}

int32_t stored_page_offset(const struct stored_table *stored)
{
	return (int32_t)(stored->page_base - (uint32_t)stored->first_page);
}

int table_store_reserve(struct table_store *store, uint32_t count)
{
	int err = 0;

	while (!err && store->chunks.pool_count < count)
		err = row_chunks_add_pool(&store->chunks);
	return err;
}

bool table_store_tend(struct table_store *store, uint64_t now_ns)
{
	return row_chunks_compact(&store->chunks, page_runs_end(&store->runs), now_ns);
}

bool table_store_could_hold(const struct table_store *store, const struct table_store_size *size,
			    const struct table_store_size *gone)
{
	const struct table_store_size limits = table_store_limits(store);

	return store->chunks.used_rows - gone->rows + size->rows <= limits.rows &&
	       store->runs.used - gone->pages + size->pages <= limits.pages &&
	       store->rules.used - gone->rules + size->rules <= limits.rules;
}

struct table_store_size table_store_limits(const struct table_store *store)
{
	return (struct table_store_size){
		.rows = row_chunks_limit(&store->chunks),
		.pages = GB_MAX_PAGES,
		.rules = GB_MAX_RULES,
	};
}

struct table_store_size table_store_needs(const struct table_store *store,
					  const struct unwind_table *table)
{
	struct table_store_size size = {.rows = table->row_count, .pages = table->page_count};
	uint32_t i;

	for (i = 0; i < table->rule_count; i++)
		size.rules += !shared_rules_has(&store->rules, &table->rules[i]);
	return size;
}

struct table_store_size table_store_holds(const struct table_store *store,
					  const struct stored_table *stored)
{
	struct table_store_size size = {.rows = stored->row_count, .pages = stored->page_count};
	uint32_t i;

	for (i = 0; i < stored->rule_count; i++)
		size.rules += store->rules.uses[stored->rules[i]] == 1;
	return size;
}

/* ---- tables ----------------------------------------------------------------------- */

static int use_rules(struct table_store *store, const struct unwind_table *table,
		     struct stored_table *stored, uint64_t now_ns)
{
	int err = 0;

	for (; stored->rule_count < table->rule_count && !err; stored->rule_count += !err)
		err = shared_rules_use(&store->rules, &table->rules[stored->rule_count], now_ns,
				       &stored->rules[stored->rule_count]);
	return err;
}

static int put_page(struct table_store *store, const struct unwind_table *table,
		    const struct stored_table *stored, uint32_t index, uint64_t now_ns)
{
	const struct unwind_page *from = &table->pages[index];
	struct gb_page page;
	uint32_t *rows, i;
	int err;

	err = row_chunks_take(&store->chunks, from->count, now_ns, &page);
	if (err)
		return err;
	rows = row_chunks_rows(&store->chunks, page.chunk) + page.first;
	for (i = 0; i < from->count; i++) {
		uint32_t row = table->rows[from->first + i];

		rows[i] = stored->rules[row >> UNWIND_PAGE_BITS] << UNWIND_PAGE_BITS |
			  (row & OFFSET_MASK);
	}
	row_chunks_set_page(&store->memory.pages[stored->page_base + index], page);
	return 0;
}

/* Of the table's pages the first `pages_put` have rows. */
static void take_back(struct table_store *store, struct stored_table *stored, uint32_t pages_put,
		      uint64_t now_ns)
{
	struct gb_page *pages = &store->memory.pages[stored->page_base];
	uint32_t i;

	for (i = 0; i < pages_put; i++) {
		row_chunks_give(&store->chunks, &pages[i], now_ns);
		row_chunks_set_page(&pages[i], (struct gb_page){0});
	}
	page_runs_give(&store->runs, stored->page_base, now_ns);
	for (i = 0; i < stored->rule_count; i++)
		shared_rules_release(&store->rules, stored->rules[i], now_ns);
	free(stored);
}

static int lay_out(struct table_store *store, const struct unwind_table *table,
		   struct stored_table *stored, uint64_t now_ns)
{
	uint32_t put = 0;
	int err;

	err = page_runs_take(&store->runs, table->page_count, now_ns, &stored->page_base);
	if (err) {
		free(stored);
		return err;
	}
	stored->page_count = table->page_count;
	stored->first_page = table->first_page;
	stored->row_count = table->row_count;
	err = use_rules(store, table, stored, now_ns);
	while (!err && put < table->page_count) {
		err = put_page(store, table, stored, put, now_ns);
		put += !err;
	}
	if (err)
		take_back(store, stored, put, now_ns);
	return err;
}

int table_store_add(struct table_store *store, const struct unwind_table *table, uint64_t now_ns,
		    struct stored_table **out)
{
	struct stored_table *stored;
	int err;

	/* Whoever fails must not have taken the rest of the rules from others for a second. */
	if (store->rules.used + table_store_needs(store, table).rules > GB_MAX_RULES)
		return -ENOSPC;
	if (table->row_count > row_chunks_free(&store->chunks, now_ns)) {
		row_chunks_want(&store->chunks);
		return -ENOSPC;
	}
	stored = calloc(1, sizeof(*stored) + table->rule_count * sizeof(stored->rules[0]));
	if (!stored)
		return -ENOMEM;
	err = lay_out(store, table, stored, now_ns);
	if (err)
		return err;
	store->table_count++;
	*out = stored;
	return 0;
}

void table_store_remove(struct table_store *store, struct stored_table *stored, uint64_t now_ns)
{
	if (!stored)
		return;
	store->table_count--;
	take_back(store, stored, stored->page_count, now_ns);
}

const struct gb_unwind_rule *table_store_find(const struct table_store *store, uint32_t page,
					      uint32_t offset)
{
	const struct gb_page *at = page < GB_MAX_PAGES ? &store->memory.pages[page] : NULL;
	uint32_t low, high;
	const uint32_t *rows;

	if (!at || !at->count)
		return NULL;
	rows = row_chunks_rows(&store->chunks, at->chunk);
	low = at->first;
	high = low + at->count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if ((rows[middle] & OFFSET_MASK) <= offset)
			low = middle;
		else
			high = middle;
	}
	return &store->memory.rules[rows[low] >> UNWIND_PAGE_BITS];
}
