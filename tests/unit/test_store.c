/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables made by hand, where they are laid out, and what becomes of the room they leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/store.h"
#include "unwind/table.h"

#include "alloc.h"

#define NOW 1000000000000ULL
#define GRACE 1000000000ULL
#define MAX_POOLS 4
#define ROW(rule, offset) ((uint32_t)(rule) << UNWIND_PAGE_BITS | (uint32_t)(offset))

/* ---- memory, as the kernel's maps would be ----------------------------------------------------------- */

static struct {
	struct gb_page *pages;
	struct gb_unwind_rule *rules;
	struct gb_chunk *pools[MAX_POOLS];
	uint32_t pools_made, pools_allowed;
	int pool_error;
} memory;

static struct unwind_store *store;

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
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

static int open_store(void)
{
	const struct unwind_memory given = {memory.pages, memory.rules, add_pool, &memory};

	memory.pools_made = 0;
	memory.pools_allowed = MAX_POOLS;
	memory.pool_error = 0;
	memset(memory.pages, 0, GB_MAX_PAGES * sizeof(*memory.pages));
	memset(memory.rules, 0, GB_MAX_RULES * sizeof(*memory.rules));
	return store_open(&store, &given);
}

static int setup(void **state)
{
	return open_store();
}

static int teardown(void **state)
{
	store_close(store);
	store = NULL;
	return 0;
}

static int setup_memory(void **state)
{
	size_t i;

	memory.pages = calloc(GB_MAX_PAGES, sizeof(*memory.pages));
	memory.rules = calloc(GB_MAX_RULES, sizeof(*memory.rules));
	for (i = 0; i < MAX_POOLS; i++)
		memory.pools[i] = calloc(GB_POOL_CHUNKS, sizeof(struct gb_chunk));
	return memory.pages && memory.rules && memory.pools[MAX_POOLS - 1] ? 0 : -1;
}

static int teardown_memory(void **state)
{
	size_t i;

	free(memory.pages);
	free(memory.rules);
	for (i = 0; i < MAX_POOLS; i++)
		free(memory.pools[i]);
	return 0;
}

static const uint32_t *rows_of(const struct gb_page *page)
{
	return memory.pools[page->chunk / GB_POOL_CHUNKS][page->chunk % GB_POOL_CHUNKS].rows +
	       page->first;
}

/* ---- tables --------------------------------------------------------------------------------------------- */

static struct gb_unwind_rule rule_of(uint32_t number)
{
	return (struct gb_unwind_rule){
		.cfa = GB_CFA_RSP, .fp = GB_FP_CFA, .cfa_off = (int32_t)number, .fp_off = -16};
}

/* Every page has `rows` rows, evenly spread; they take rules `first_rule`, +1, ... in turn. */
struct shape {
	uint64_t first_page;
	uint32_t pages, rows, first_rule, rules;
};

static struct unwind_table *make_table(const struct shape *shape)
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
			table->rows[row] = ROW(row % shape->rules, i * 4096 / shape->rows);
	}
	return table;
}

static int add(const struct shape *shape, uint64_t now_ns, struct stored_table **stored)
{
	struct unwind_table *table = make_table(shape);
	int err = store_add(store, table, now_ns, stored);

	unwind_table_close(table);
	return err;
}

static struct stored_table *must_add(const struct shape *shape, uint64_t now_ns)
{
	struct stored_table *stored;

	assert_int_equal(add(shape, now_ns, &stored), 0);
	return stored;
}

/* Fails, and leaves no trace. */
static void assert_refused(const struct shape *shape, uint64_t now_ns, int expected)
{
	const struct store_stats before = store_get_stats(store);
	struct stored_table *stored = (void *)&memory;
	struct store_stats after;

	assert_int_equal(add(shape, now_ns, &stored), expected);
	assert_ptr_equal(stored, &memory); /* untouched */
	after = store_get_stats(store);
	assert_int_equal(after.tables, before.tables);
	assert_int_equal(after.rows, before.rows);
	assert_int_equal(after.pages, before.pages);
	assert_int_equal(after.rules, before.rules);
	assert_int_equal(after.chunks, before.chunks);
}

static void assert_stats(uint64_t tables, uint64_t rows, uint64_t pages, uint64_t rules,
			 uint64_t chunks, uint64_t pools)
{
	const struct store_stats stats = store_get_stats(store);

	assert_int_equal(stats.tables, tables);
	assert_int_equal(stats.rows, rows);
	assert_int_equal(stats.pages, pages);
	assert_int_equal(stats.rules, rules);
	assert_int_equal(stats.chunks, chunks);
	assert_int_equal(stats.pools, pools);
}

/* Which page in memory.pages is that of the table's first. */
static uint32_t page_base(const struct stored_table *stored, const struct shape *shape)
{
	return (uint32_t)(shape->first_page + (uint64_t)(int64_t)stored_page_offset(stored));
}

/* What the store finds at every address is what the table has there. */
static void assert_equals_table(const struct stored_table *stored, const struct shape *shape)
{
	struct unwind_table *table = make_table(shape);
	uint64_t address = shape->first_page << 12, end = address + ((uint64_t)shape->pages << 12);

	for (; address < end; address++) {
		const struct gb_unwind_rule *found = store_find(
			store, (uint32_t)(address >> 12) + (uint32_t)stored_page_offset(stored),
			address & 4095);

		assert_non_null(found);
		assert_memory_equal(found, unwind_table_find(table, address), sizeof(*found));
	}
	unwind_table_close(table);
}

/* ---- layout ------------------------------------------------------------------------------------------------ */

static void layout(void **state)
{
	struct unwind_page pages[] = {{0, 2}, {2, 1}, {3, 3}};
	uint32_t rows[] = {ROW(1, 0), ROW(0, 0x10),  ROW(1, 0),
			   ROW(2, 0), ROW(0, 0xffe), ROW(1, 0xfff)};
	struct gb_unwind_rule rules[] = {rule_of(7), rule_of(8), rule_of(9)};
	const struct unwind_table table = {.first_page = 0x401,
					   .page_count = 3,
					   .row_count = 6,
					   .rule_count = 3,
					   .pages = pages,
					   .rows = rows,
					   .rules = rules};
	static const struct gb_page expected[] = {{0, 0, 2}, {0, 2, 1}, {0, 3, 3}, {0, 0, 0}};
	struct stored_table *stored;

	assert_stats(0, 0, 0, 0, 0, 0);
	assert_int_equal(store_add(store, &table, NOW, &stored), 0);
	assert_stats(1, 6, 3, 3, 1, 1);
	assert_int_equal(stored_page_offset(stored), -0x401);
	assert_memory_equal(memory.pages, expected, sizeof(expected));
	assert_memory_equal(memory.pools[0][0].rows, rows, sizeof(rows));
	assert_memory_equal(memory.rules, rules, sizeof(rules));
	/* The first row of a page holds from 0, the last to its end. */
	assert_ptr_equal(store_find(store, 0, 0), &memory.rules[1]);
	assert_ptr_equal(store_find(store, 0, 0xf), &memory.rules[1]);
	assert_ptr_equal(store_find(store, 0, 0x10), &memory.rules[0]);
	assert_ptr_equal(store_find(store, 0, 0xfff), &memory.rules[0]);
	assert_ptr_equal(store_find(store, 1, 0xfff), &memory.rules[1]);
	assert_ptr_equal(store_find(store, 2, 0xffd), &memory.rules[2]);
	assert_ptr_equal(store_find(store, 2, 0xffe), &memory.rules[0]);
	assert_ptr_equal(store_find(store, 2, 0xfff), &memory.rules[1]);
	assert_null(store_find(store, 3, 0));
	assert_null(store_find(store, GB_MAX_PAGES, 0));
	assert_null(store_find(store, UINT32_MAX, 0));
	store_remove(store, stored, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
	assert_null(store_find(store, 0, 0));
	assert_null(store_find(store, 2, 0));
}

/* Behind each other, in numbers of their own; pages of 1 to as many rows as there may be. */
static void equality(void **state)
{
	static const struct shape shapes[] = {
		{0, 1, 1, 0, 1},
		{0x7ffff, 3, 2, 5, 4},
		{1, 40, UNWIND_MAX_ROWS_PER_PAGE, 3, 100},
		{0x1000000, 7, 1000, 0, 7},
	};
	struct stored_table *stored[4];
	uint32_t base = 0;
	size_t i;

	for (i = 0; i < 4; i++) {
		stored[i] = must_add(&shapes[i], NOW);
		assert_int_equal(page_base(stored[i], &shapes[i]), base);
		base += shapes[i].pages;
	}
	for (i = 0; i < 4; i++)
		assert_equals_table(stored[i], &shapes[i]);
	assert_stats(4, 1 + 6 + 40 * UNWIND_MAX_ROWS_PER_PAGE + 7000, 51, 103, 3, 1);
	/* One that goes does not change the others. */
	store_remove(store, stored[1], NOW);
	assert_equals_table(stored[0], &shapes[0]);
	assert_equals_table(stored[2], &shapes[2]);
	assert_equals_table(stored[3], &shapes[3]);
	store_remove(store, stored[0], NOW);
	store_remove(store, stored[2], NOW);
	store_remove(store, stored[3], NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* 16 pages of 1,023 rows fill a chunk but for 16 rows, which are left. */
static void page_in_one_chunk(void **state)
{
	static const struct shape shape = {0, 33, UNWIND_MAX_ROWS_PER_PAGE, 0, 1},
				  small = {0, 1, 16, 0, 1};
	struct stored_table *stored = must_add(&shape, NOW), *last;
	uint32_t i;

	for (i = 0; i < 33; i++) {
		assert_int_equal(memory.pages[i].chunk, i / 16);
		assert_int_equal(memory.pages[i].first, i % 16 * UNWIND_MAX_ROWS_PER_PAGE);
		assert_int_equal(memory.pages[i].count, UNWIND_MAX_ROWS_PER_PAGE);
	}
	last = must_add(&small, NOW);
	assert_int_equal(memory.pages[33].chunk, 2);
	assert_int_equal(memory.pages[33].first, UNWIND_MAX_ROWS_PER_PAGE);
	assert_stats(2, 33 * UNWIND_MAX_ROWS_PER_PAGE + 16, 34, 1, 3, 1);
	store_remove(store, stored, NOW);
	assert_stats(1, 16, 1, 1, 1, 1); /* the last chunk holds the small one */
	store_remove(store, last, NOW);
}

/* A table of 2 ^ 14 rows by 16 pages of 1,024 would not be one; 16 of 1,000 and then one that just fits. */
static void chunk_to_the_last_row(void **state)
{
	static const struct shape most = {0, 16, 1000, 0, 1}, rest = {0, 1, 384, 0, 1},
				  next = {0, 1, 1, 0, 1};
	struct stored_table *stored[3] = {must_add(&most, NOW), must_add(&rest, NOW),
					  must_add(&next, NOW)};

	assert_int_equal(memory.pages[16].chunk, 0);
	assert_int_equal(memory.pages[16].first + memory.pages[16].count, GB_CHUNK_ROWS);
	assert_int_equal(memory.pages[17].chunk, 1);
	assert_int_equal(memory.pages[17].first, 0);
	assert_equals_table(stored[1], &rest);
	store_remove(store, stored[0], NOW);
	store_remove(store, stored[1], NOW);
	store_remove(store, stored[2], NOW);
}

/* ---- rules -------------------------------------------------------------------------------------------------- */

static void rules_are_shared(void **state)
{
	static const struct shape first = {0, 1, 4, 0, 4}, second = {0, 1, 4, 2, 4},
				  third = {0, 1, 1, 3, 1};
	struct stored_table *a = must_add(&first, NOW), *b = must_add(&second, NOW), *c;
	const struct gb_unwind_rule expected = rule_of(3);

	assert_stats(2, 8, 2, 6, 1, 1);
	/* Rules 2 and 3 of the first are 0 and 1 of the second. */
	assert_int_equal(rows_of(&memory.pages[0])[2] >> 12, 2);
	assert_int_equal(rows_of(&memory.pages[1])[0] >> 12, 2);
	assert_int_equal(rows_of(&memory.pages[1])[3] >> 12, 5);
	store_remove(store, a, NOW);
	assert_stats(1, 4, 1, 4, 1, 1);
	assert_equals_table(b, &second);
	store_remove(store, b, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
	/* It is found again under its number. */
	c = must_add(&third, NOW);
	assert_stats(1, 1, 1, 1, 1, 1);
	assert_ptr_equal(store_find(store, page_base(c, &third), 0), &memory.rules[3]);
	assert_memory_equal(&memory.rules[3], &expected, sizeof(expected));
	store_remove(store, c, NOW);
}

/* Each field makes another rule. */
static void rules_are_told_apart(void **state)
{
	struct gb_unwind_rule rules[] = {
		{.cfa = 1},       {.fp = 1},
		{.ra = 1},        {.reg = 1},
		{.cfa_off = 1},   {.fp_off = 1},
		{.cfa_add = 1},   {.rbx_off = 1},
		{.cfa_off = -1},  {.fp_off = -1},
		{.cfa_add = -1},  {.rbx_off = -1},
		{.cfa_off = 256}, {0},
	};
	const uint32_t count = sizeof(rules) / sizeof(rules[0]);
	struct unwind_page page = {0, 1};
	uint32_t row = ROW(0, 0);
	const struct unwind_table table = {.page_count = 1,
					   .row_count = 1,
					   .rule_count = count,
					   .pages = &page,
					   .rows = &row,
					   .rules = rules};
	struct stored_table *stored;

	assert_int_equal(store_add(store, &table, NOW, &stored), 0);
	assert_stats(1, 1, 1, count, 1, 1);
	assert_memory_equal(memory.rules, rules, sizeof(rules));
	store_remove(store, stored, NOW);
}

static void rules_full(void **state)
{
	static const struct shape most = {0, 1, 8, 0, GB_MAX_RULES - 2},
				  three = {0, 1, 8, GB_MAX_RULES - 2, 3},
				  two = {0, 1, 2, GB_MAX_RULES - 2, 2},
				  other = {0, 1, 1, GB_MAX_RULES, 1};
	struct stored_table *a = must_add(&most, NOW), *b;

	assert_stats(1, 8, 1, GB_MAX_RULES - 2, 1, 1);
	assert_refused(&three, NOW, -ENOSPC);
	b = must_add(&two, NOW);
	assert_stats(2, 10, 2, GB_MAX_RULES, 1, 1);
	assert_equals_table(a, &most);
	assert_equals_table(b, &two);
	assert_refused(&other, NOW, -ENOSPC);
	store_remove(store, a, NOW);
	store_remove(store, b, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* ---- no room for pages ------------------------------------------------------------------------------------- */

/* More pages than there are, and no rows, which nobody gets to read. */
static void too_many_pages(void **state)
{
	const struct unwind_table table = {.page_count = GB_MAX_PAGES + 1};
	struct stored_table *stored;

	assert_int_equal(store_add(store, &table, NOW, &stored), -ENOSPC);
	assert_stats(0, 0, 0, 0, 0, 0);
}

static void pages_reused_after_grace(void **state)
{
	static const struct shape small = {0, 1000, 1, 0, 1},
				  rest = {0, GB_MAX_PAGES - 1000, 1, 0, 2},
				  again = {0x400, 999, 2, 1, 3}, one = {0, 1, 1, 0, 1},
				  two = {0, 2, 1, 0, 1};
	struct stored_table *first = must_add(&small, NOW), *others = must_add(&rest, NOW), *later,
			    *last;

	assert_stats(2, GB_MAX_PAGES, GB_MAX_PAGES, 2, GB_MAX_PAGES / GB_CHUNK_ROWS, 1);
	assert_refused(&one, NOW, -ENOSPC);
	store_remove(store, first, NOW);
	assert_null(store_find(store, 999, 0));
	assert_non_null(store_find(store, 1000, 0));
	assert_refused(&one, NOW, -ENOSPC);
	assert_refused(&one, NOW + GRACE - 1, -ENOSPC);
	later = must_add(&again, NOW + GRACE);
	assert_int_equal(page_base(later, &again), 0);
	assert_equals_table(later, &again);
	/* One page of the run is left. */
	assert_refused(&two, NOW + GRACE, -ENOSPC);
	last = must_add(&one, NOW + GRACE);
	assert_int_equal(page_base(last, &one), 999);
	assert_refused(&one, NOW + 9 * GRACE, -ENOSPC);
	store_remove(store, later, NOW);
	store_remove(store, last, NOW);
	store_remove(store, others, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* Whatever the order in which neighbours go, their room becomes one. */
static void free_pages_join(void **state)
{
	static const unsigned char orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
						  {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const struct shape third = {0, 100, 1, 0, 1},
				  rest = {0, GB_MAX_PAGES - 300, 1, 0, 1},
				  whole = {0, 300, 1, 0, 1};
	struct stored_table *stored[3], *others;
	uint64_t now = NOW;
	size_t i, j;

	for (i = 0; i < 3; i++)
		stored[i] = must_add(&third, now);
	others = must_add(&rest, now);
	for (i = 0; i < 6; i++) {
		struct stored_table *joined;

		for (j = 0; j < 3; j++)
			store_remove(store, stored[orders[i][j]], now + j);
		/* The grace of the youngest is that of all. */
		assert_refused(&whole, now + GRACE + 1, -ENOSPC);
		now += GRACE + 2;
		joined = must_add(&whole, now);
		assert_int_equal(page_base(joined, &whole), 0);
		store_remove(store, joined, now);
		now += GRACE;
		for (j = 0; j < 3; j++) {
			stored[j] = must_add(&third, now);
			assert_int_equal(page_base(stored[j], &third), j * 100);
		}
	}
	for (j = 0; j < 3; j++)
		store_remove(store, stored[j], now);
	store_remove(store, others, now);
}

/* ---- no room for rows ---------------------------------------------------------------------------------------- */

/* Fills one chunk, but for 16 rows. */
static const struct shape chunkful = {0, 16, UNWIND_MAX_ROWS_PER_PAGE, 0, 5};
#define CHUNKFUL_ROWS (16 * UNWIND_MAX_ROWS_PER_PAGE)

static struct stored_table *chunkfuls[2 * GB_POOL_CHUNKS];

static void fill_chunks(size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		chunkfuls[i] = must_add(&chunkful, NOW);
}

static void empty_chunks(size_t count)
{
	while (count)
		store_remove(store, chunkfuls[--count], NOW);
}

static void pools_full(void **state)
{
	static const struct shape next = {0, 1, 17, 100, 17},
				  two_chunks = {0, 32, UNWIND_MAX_ROWS_PER_PAGE, 0, 5};

	memory.pools_allowed = 1;
	fill_chunks(GB_POOL_CHUNKS - 1);
	/* Its second half finds no room. */
	assert_refused(&two_chunks, NOW, -ENOSPC);
	assert_null(store_find(store, 16 * (GB_POOL_CHUNKS - 1), 0));
	/* The first half was never seen, but its rows are not free within a second. */
	assert_refused(&next, NOW, -ENOSPC);
	assert_stats(GB_POOL_CHUNKS - 1, (GB_POOL_CHUNKS - 1) * CHUNKFUL_ROWS,
		     16 * (GB_POOL_CHUNKS - 1), 5, GB_POOL_CHUNKS - 1, 1);
	memory.pools_allowed = 2;
	chunkfuls[GB_POOL_CHUNKS - 1] = must_add(&chunkful, NOW);
	assert_int_equal(memory.pools_made, 2);
	assert_stats(GB_POOL_CHUNKS, GB_POOL_CHUNKS * CHUNKFUL_ROWS, 16 * GB_POOL_CHUNKS, 5,
		     GB_POOL_CHUNKS, 2);
	assert_equals_table(chunkfuls[0], &chunkful);
	assert_equals_table(chunkfuls[GB_POOL_CHUNKS - 1], &chunkful);
	empty_chunks(GB_POOL_CHUNKS);
	assert_stats(0, 0, 0, 0, 0, 2);
}

/* As many as the kernel's map of pools has room for; this is asked of nobody. */
static void pool_errors(void **state)
{
	static const int errors[] = {-ENOMEM, -EPERM, -ENOSPC};
	size_t i;

	for (i = 0; i < 3; i++) {
		memory.pool_error = errors[i];
		assert_refused(&chunkful, NOW, errors[i]);
		assert_stats(0, 0, 0, 0, 0, 0);
	}
	memory.pool_error = 0;
	fill_chunks(1);
	assert_stats(1, CHUNKFUL_ROWS, 16, 5, 1, 1);
	empty_chunks(1);
}

/* The chunk that `victim` fills alone is used again, but not while someone may read it. */
static void check_reuse(size_t victim)
{
	const uint32_t *rows = memory.pools[0][victim].rows;
	static uint32_t before[GB_CHUNK_ROWS];
	static const struct shape other = {7, 16, UNWIND_MAX_ROWS_PER_PAGE, 50, 3};
	uint32_t base;

	memcpy(before, rows, sizeof(before));
	store_remove(store, chunkfuls[victim], NOW);
	assert_stats(GB_POOL_CHUNKS - 1, (GB_POOL_CHUNKS - 1) * CHUNKFUL_ROWS,
		     16 * (GB_POOL_CHUNKS - 1), 5, GB_POOL_CHUNKS - 1, 1);
	assert_refused(&other, NOW + GRACE - 1, -ENOSPC);
	assert_memory_equal(rows, before, sizeof(before));
	chunkfuls[victim] = must_add(&other, NOW + GRACE);
	base = page_base(chunkfuls[victim], &other);
	assert_int_equal(memory.pages[base].chunk, victim);
	assert_int_equal(memory.pages[base].first, 0);
	assert_equals_table(chunkfuls[victim], &other);
	assert_stats(GB_POOL_CHUNKS, GB_POOL_CHUNKS * CHUNKFUL_ROWS, 16 * GB_POOL_CHUNKS, 8,
		     GB_POOL_CHUNKS, 1);
}

static void chunks_reused_after_grace(void **state)
{
	memory.pools_allowed = 1;
	fill_chunks(GB_POOL_CHUNKS);
	check_reuse(5);
	assert_equals_table(chunkfuls[4], &chunkful);
	assert_equals_table(chunkfuls[6], &chunkful);
	empty_chunks(GB_POOL_CHUNKS);
}

/* The chunk that rows were put into last is no exception. */
static void open_chunk_reused(void **state)
{
	memory.pools_allowed = 1;
	fill_chunks(GB_POOL_CHUNKS);
	check_reuse(GB_POOL_CHUNKS - 1);
	empty_chunks(GB_POOL_CHUNKS);
}

/* A chunk of which some rows are in use is not used again. */
static void chunk_in_use(void **state)
{
	static const struct shape half = {0, 8, UNWIND_MAX_ROWS_PER_PAGE, 0, 5};
	struct stored_table *first = must_add(&half, NOW), *second = must_add(&half, NOW), *third;

	memory.pools_allowed = 1;
	assert_int_equal(memory.pages[8].chunk, 0);
	store_remove(store, first, NOW);
	third = must_add(&chunkful, NOW + 9 * GRACE);
	assert_int_equal(memory.pages[page_base(third, &chunkful)].chunk, 1);
	assert_equals_table(second, &half);
	store_remove(store, second, NOW);
	store_remove(store, third, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* ---- no memory -------------------------------------------------------------------------------------------------- */

static struct unwind_table *small_table;

static int live(void *context)
{
	struct stored_table *first = NULL, *second = NULL;
	int err = open_store();

	if (err)
		return err;
	err = store_add(store, small_table, NOW, &first);
	if (!err)
		err = store_add(store, small_table, NOW, &second);
	store_remove(store, first, NOW);
	store_remove(store, second, NOW);
	assert_stats(0, 0, 0, 0, 0, memory.pools_made);
	store_close(store);
	store = NULL;
	return err;
}

static void failing_allocations(void **state)
{
	static const struct shape shape = {3, 2, 2, 0, 2};

	small_table = make_table(&shape);
	assert_int_equal(alloc_fail_each(live, NULL), 5);
	unwind_table_close(small_table);
}

/* Runs of free pages are more than there is memory to know them: they are lost, nothing else is. */
static void lost_pages(void **state)
{
	static const struct shape one = {0, 1, 1, 0, 1};
	struct stored_table *stored[40];
	size_t i, lost = 0;

	for (i = 0; i < 40; i++)
		stored[i] = must_add(&one, NOW);
	for (i = 0; i < 40; i += 2) { /* every other one: they do not join */
		alloc_fail_at(1);
		store_remove(store, stored[i], NOW);
		lost += alloc_fail_stop();
	}
	assert_true(lost > 0);
	assert_stats(20, 20, 20, 1, 1, 1);
	for (i = 1; i < 40; i += 2) {
		assert_equals_table(stored[i], &one);
		store_remove(store, stored[i], NOW);
	}
	assert_stats(0, 0, 0, 0, 0, 1);
	stored[0] = must_add(&one, NOW + GRACE);
	assert_equals_table(stored[0], &one);
	store_remove(store, stored[0], NOW);
}

static void nothing(void **state)
{
	store_close(NULL);
	store_remove(NULL, NULL, 0);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(layout),
		FRESH(equality),
		FRESH(page_in_one_chunk),
		FRESH(chunk_to_the_last_row),
		FRESH(rules_are_shared),
		FRESH(rules_are_told_apart),
		FRESH(rules_full),
		FRESH(too_many_pages),
		FRESH(pages_reused_after_grace),
		FRESH(free_pages_join),
		FRESH(pools_full),
		FRESH(pool_errors),
		FRESH(chunks_reused_after_grace),
		FRESH(open_chunk_reused),
		FRESH(chunk_in_use),
		cmocka_unit_test(failing_allocations),
		FRESH(lost_pages),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
