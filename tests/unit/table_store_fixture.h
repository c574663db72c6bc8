/* SPDX-License-Identifier: BSD-2-Clause */
/* table_store_fixture.h - a store in plain memory, and tables made by hand. After cmocka.h. */
#ifndef GECKOBPF_TESTS_TABLE_STORE_FIXTURE_H
#define GECKOBPF_TESTS_TABLE_STORE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"
#include "unwind/table_store.h"

#include "../unwind_rule.h"
#include "alloc.h"

#define NOW 1000000000000ULL
#define GRACE 1000000000ULL
#define MAX_POOLS 4
#define USABLE                                                                                     \
	(GB_POOL_CHUNKS - 1) /* chunks of one pool that tables get; one is kept for compaction */

/* ---- memory, as the kernel's maps would be ----------------------------------------------------------- */

static struct {
	struct gb_page *pages;
	struct gb_unwind_rule *rules;
	struct gb_chunk *pools[MAX_POOLS];
	uint32_t pools_made, pools_allowed;
	int pool_error;
} memory;

static uint32_t max_pools =
	MAX_POOLS; /* as the store is told; memory.pools_allowed is what it is given */
static struct table_store *store;

static inline int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	assert_ptr_equal(context, &memory);
	assert_int_equal(index, memory.pools_made);
	if (memory.pool_error)
		return memory.pool_error;
	if (index >= memory.pools_allowed)
		return -ENOSPC;
	*chunks = memory.pools[index];
	memory.pools_made++;
	return 0;
}

static inline int open_store(void)
{
	const struct unwind_memory given = {
		.pages = memory.pages,
		.rules = memory.rules,
		.add_pool = add_pool,
		.context = &memory,
		.max_pools = max_pools,
	};

	memory.pools_made = 0;
	memory.pools_allowed = MAX_POOLS;
	memory.pool_error = 0;
	memset(memory.pages, 0, GB_MAX_PAGES * sizeof(*memory.pages));
	memset(memory.rules, 0, GB_MAX_RULES * sizeof(*memory.rules));
	return table_store_open(&store, &given);
}

static inline int setup(void **state)
{
	return open_store();
}

static inline int teardown(void **state)
{
	table_store_close(store);
	store = NULL;
	return 0;
}

static inline int setup_memory(void **state)
{
	size_t i;

	memory.pages = calloc(GB_MAX_PAGES, sizeof(*memory.pages));
	memory.rules = calloc(GB_MAX_RULES, sizeof(*memory.rules));
	for (i = 0; i < MAX_POOLS; i++)
		memory.pools[i] = calloc(GB_POOL_CHUNKS, sizeof(struct gb_chunk));
	return memory.pages && memory.rules && memory.pools[MAX_POOLS - 1] ? 0 : -1;
}

static inline int teardown_memory(void **state)
{
	size_t i;

	free(memory.pages);
	free(memory.rules);
	for (i = 0; i < MAX_POOLS; i++)
		free(memory.pools[i]);
	return 0;
}

static inline const uint32_t *rows_of(const struct gb_page *page)
{
	return memory.pools[page->chunk / GB_POOL_CHUNKS][page->chunk % GB_POOL_CHUNKS].rows +
	       page->first;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static inline struct gb_unwind_rule rule_of(uint32_t number)
{
	return (struct gb_unwind_rule){
		.cfa = GB_CFA_SP, .fp = GB_FP_CFA, .cfa_off = (int32_t)number, .fp_off = -16};
}

/* Every page has `rows` rows, evenly spread; they take rules `first_rule`, +1, ... in turn. */
struct shape {
	uint64_t first_page;
	uint32_t pages, rows, first_rule, rules;
};

static inline struct unwind_table *make_table(const struct shape *shape)
{
	struct unwind_table *table = calloc(1, sizeof(*table));
	uint32_t page, i, row = 0;

	assert_non_null(table);
	table->first_page = shape->first_page;
	table->page_count = shape->pages;
	table->row_count = shape->pages * shape->rows;
	table->rule_count = shape->rules;
	table->pages = calloc(shape->pages, sizeof(*table->pages));
	table->rows = calloc(table->row_count, sizeof(*table->rows));
	table->rules = calloc(shape->rules, sizeof(*table->rules));
	assert_true(table->pages && table->rows && table->rules);
	for (i = 0; i < shape->rules; i++)
		table->rules[i] = rule_of(shape->first_rule + i);
	for (page = 0; page < shape->pages; page++) {
		table->pages[page] = (struct unwind_page){.first = row, .count = shape->rows};
		for (i = 0; i < shape->rows; i++, row++)
			table->rows[row] = ROW(i * 4096 / shape->rows, row % shape->rules);
	}
	return table;
}

static inline int add(const struct shape *shape, uint64_t now_ns, struct stored_table **stored)
{
	struct unwind_table *table = make_table(shape);
	int err = table_store_add(store, table, now_ns, stored);

	unwind_table_close(table);
	return err;
}

static inline struct stored_table *must_add(const struct shape *shape, uint64_t now_ns)
{
	struct stored_table *stored;

	assert_int_equal(add(shape, now_ns, &stored), 0);
	return stored;
}

/* Fails, and leaves no trace. */
static inline void assert_refused(const struct shape *shape, uint64_t now_ns, int expected)
{
	const struct table_store_stats before = table_store_get_stats(store);
	struct stored_table *stored = (void *)&memory;
	struct table_store_stats after;

	assert_int_equal(add(shape, now_ns, &stored), expected);
	assert_ptr_equal(stored, &memory); /* untouched */
	after = table_store_get_stats(store);
	assert_int_equal(after.tables, before.tables);
	assert_int_equal(after.rows, before.rows);
	assert_int_equal(after.pages, before.pages);
	assert_int_equal(after.rules, before.rules);
	assert_int_equal(after.chunks, before.chunks);
}

static inline void assert_stats(uint64_t tables, uint64_t rows, uint64_t pages, uint64_t rules,
				uint64_t chunks, uint64_t pools)
{
	const struct table_store_stats stats = table_store_get_stats(store);

	assert_int_equal(stats.tables, tables);
	assert_int_equal(stats.rows, rows);
	assert_int_equal(stats.pages, pages);
	assert_int_equal(stats.rules, rules);
	assert_int_equal(stats.chunks, chunks);
	assert_int_equal(stats.pools, pools);
}

/* Which page in memory.pages is that of the table's first. */
static inline uint32_t page_base(const struct stored_table *stored, const struct shape *shape)
{
	return (uint32_t)(shape->first_page + (uint64_t)(int64_t)stored_page_offset(stored));
}

/* What the store finds at every address is what the table has there. */
static inline void assert_equals_table(const struct stored_table *stored, const struct shape *shape)
{
	struct unwind_table *table = make_table(shape);
	uint64_t address = shape->first_page << 12, end = address + ((uint64_t)shape->pages << 12);

	for (; address < end; address++) {
		const struct gb_unwind_rule *found = table_store_find(
			store, (uint32_t)(address >> 12) + (uint32_t)stored_page_offset(stored),
			address & 4095);

		assert_non_null(found);
		assert_memory_equal(found, unwind_table_find(table, address), sizeof(*found));
	}
	unwind_table_close(table);
}

#endif
