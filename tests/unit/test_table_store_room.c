/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of the room that tables leave: not touched for a second, then used again, and compacted where it is in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table_store_fixture.h"

/* ---- no room for pages ------------------------------------------------------------------------------------- */

/* More pages than there are, and no rows, which nobody gets to read. */
static void too_many_pages(void **state)
{
	const struct unwind_table table = {.page_count = GB_MAX_PAGES + 1};
	struct stored_table *stored;

	assert_int_equal(table_store_add(store, &table, NOW, &stored), -ENOSPC);
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
	table_store_remove(store, first, NOW);
	assert_null(table_store_find(store, 999, 0));
	assert_non_null(table_store_find(store, 1000, 0));
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
	table_store_remove(store, later, NOW);
	table_store_remove(store, last, NOW);
	table_store_remove(store, others, NOW);
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
			table_store_remove(store, stored[orders[i][j]], now + j);
		/* The grace of the youngest is that of all. */
		assert_refused(&whole, now + GRACE + 1, -ENOSPC);
		now += GRACE + 2;
		joined = must_add(&whole, now);
		assert_int_equal(page_base(joined, &whole), 0);
		table_store_remove(store, joined, now);
		now += GRACE;
		for (j = 0; j < 3; j++) {
			stored[j] = must_add(&third, now);
			assert_int_equal(page_base(stored[j], &third), j * 100);
		}
	}
	for (j = 0; j < 3; j++)
		table_store_remove(store, stored[j], now);
	table_store_remove(store, others, now);
}

/* Room is free a second after it was given back, although its neighbours come and go all the time. */
static void pages_mature_among_others(void **state)
{
	static const struct shape large = {0, 1000, 1, 0, 1}, small = {0, 10, 1, 0, 1},
				  rest = {0, GB_MAX_PAGES - 1010, 1, 0, 1};
	struct stored_table *a = must_add(&large, NOW), *b = must_add(&small, NOW),
			    *others = must_add(&rest, NOW);

	table_store_remove(store, a, NOW);
	table_store_remove(store, b, NOW + GRACE / 2);
	a = must_add(&large, NOW + GRACE);
	assert_int_equal(page_base(a, &large), 0);
	assert_refused(&small, NOW + GRACE, -ENOSPC);
	b = must_add(&small, NOW + GRACE / 2 + GRACE);
	assert_int_equal(page_base(b, &small), 1000);
	table_store_remove(store, a, NOW);
	table_store_remove(store, b, NOW);
	table_store_remove(store, others, NOW);
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
		table_store_remove(store, chunkfuls[--count], NOW);
}

static void pools_full(void **state)
{
	static const struct shape next = {0, 1, 17, 100, 17},
				  two_chunks = {0, 32, UNWIND_MAX_ROWS_PER_PAGE, 0, 5};
	struct stored_table *stored;

	memory.pools_allowed = 1;
	fill_chunks(USABLE - 1);
	/* Its second half finds no room. */
	assert_refused(&two_chunks, NOW, -ENOSPC);
	assert_null(table_store_find(store, 16 * (USABLE - 1), 0));
	/* The first half was never seen, but its rows are not free within a second: it is the kept chunk's turn. */
	stored = must_add(&next, NOW);
	assert_int_equal(memory.pages[page_base(stored, &next)].chunk, USABLE);
	table_store_remove(store, stored, NOW);
	assert_stats(USABLE - 1, (USABLE - 1) * CHUNKFUL_ROWS, 16 * (USABLE - 1), 5, USABLE - 1, 1);
	memory.pools_allowed = 2;
	chunkfuls[USABLE - 1] = must_add(&chunkful, NOW);
	assert_int_equal(memory.pools_made, 2);
	/* It began where that left off. */
	assert_stats(USABLE, USABLE * CHUNKFUL_ROWS, 16 * USABLE, 5, USABLE + 1, 2);
	assert_equals_table(chunkfuls[0], &chunkful);
	assert_equals_table(chunkfuls[USABLE - 1], &chunkful);
	empty_chunks(USABLE);
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

/*
 * The chunk that `victim` fills alone is used again, but not while someone may read it. `other` makes room for the compaction, whose
 * chunk is used meanwhile.
 */
static void check_reuse(size_t victim, size_t other)
{
	const uint32_t *rows = memory.pools[0][victim].rows;
	static uint32_t before[GB_CHUNK_ROWS];
	static const struct shape shape = {7, 16, UNWIND_MAX_ROWS_PER_PAGE, 50, 3};
	uint32_t base;

	memcpy(before, rows, sizeof(before));
	table_store_remove(store, chunkfuls[victim], NOW);
	table_store_remove(store, chunkfuls[other], NOW + 1);
	assert_stats(USABLE - 2, (USABLE - 2) * CHUNKFUL_ROWS, 16 * (USABLE - 2), 5, USABLE - 2, 1);
	chunkfuls[other] = must_add(&shape, NOW + 1);
	assert_int_equal(memory.pages[page_base(chunkfuls[other], &shape)].chunk, USABLE);
	assert_refused(&shape, NOW + GRACE - 1, -ENOSPC);
	assert_memory_equal(rows, before, sizeof(before));
	chunkfuls[victim] = must_add(&shape, NOW + GRACE);
	base = page_base(chunkfuls[victim], &shape);
	assert_int_equal(memory.pages[base].chunk, victim);
	assert_int_equal(memory.pages[base].first, 0);
	assert_equals_table(chunkfuls[victim], &shape);
	assert_stats(USABLE, USABLE * CHUNKFUL_ROWS, 16 * USABLE, 8, USABLE, 1);
	assert_refused(&shape, NOW + 2 * GRACE, -ENOSPC);
}

static void chunks_reused_after_grace(void **state)
{
	memory.pools_allowed = 1;
	fill_chunks(USABLE);
	check_reuse(5, 50);
	assert_equals_table(chunkfuls[4], &chunkful);
	assert_equals_table(chunkfuls[6], &chunkful);
	empty_chunks(USABLE);
}

/* The chunk that rows were put into last is no exception. */
static void open_chunk_reused(void **state)
{
	memory.pools_allowed = 1;
	fill_chunks(USABLE);
	check_reuse(USABLE - 1, 0);
	empty_chunks(USABLE);
}

/* A chunk of which some rows are in use is not used again. */
static void chunk_in_use(void **state)
{
	static const struct shape half = {0, 8, UNWIND_MAX_ROWS_PER_PAGE, 0, 5};
	struct stored_table *first = must_add(&half, NOW), *second = must_add(&half, NOW), *third;

	memory.pools_allowed = 1;
	assert_int_equal(memory.pages[8].chunk, 0);
	table_store_remove(store, first, NOW);
	third = must_add(&chunkful, NOW + 9 * GRACE);
	assert_int_equal(memory.pages[page_base(third, &chunkful)].chunk, 1);
	assert_equals_table(second, &half);
	table_store_remove(store, second, NOW);
	table_store_remove(store, third, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* Whatever memory there is: to give pages back needs none. */
static void pages_never_lost(void **state)
{
	static const struct shape one = {0, 1, 1, 0, 1}, all = {0, GB_MAX_PAGES, 1, 0, 1};
	struct stored_table *stored[40];
	size_t i, count = alloc_count();

	for (i = 0; i < 40; i++)
		stored[i] = must_add(&one, NOW);
	count = alloc_count();
	for (i = 0; i < 40; i += 2)
		table_store_remove(store, stored[i], NOW);
	assert_stats(20, 20, 20, 1, 1, 1);
	for (i = 1; i < 40; i += 2) {
		assert_int_equal(page_base(stored[i], &one), i);
		table_store_remove(store, stored[i], NOW);
	}
	assert_int_equal(alloc_count(), count);
	assert_stats(0, 0, 0, 0, 0, 1);
	stored[0] = must_add(&all, NOW + GRACE);
	assert_int_equal(page_base(stored[0], &all), 0);
	table_store_remove(store, stored[0], NOW + GRACE);
}

/* ---- compaction ------------------------------------------------------------------------------------------------- */

/* A quarter of a chunk, but for some rows; each has rules of its own, so that they are told apart. */
#define QUARTER(i)                                                                                 \
	{                                                                                          \
		0, 4, UNWIND_MAX_ROWS_PER_PAGE, 7 * (i), 7                                         \
	}

static struct shape quarters[4 * USABLE];
static struct stored_table *quarter_tables[4 * USABLE];

static void fill_quarters(void)
{
	uint32_t i;

	memory.pools_allowed = 1;
	for (i = 0; i < 4 * USABLE; i++) {
		quarters[i] = (struct shape)QUARTER(i);
		quarter_tables[i] = must_add(&quarters[i], NOW);
		assert_int_equal(memory.pages[4 * i].chunk, i / 4);
	}
}

/* Of every four tables those go whose bit is set. */
static void drop_quarters(uint32_t which, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < 4 * USABLE; i++)
		if (which >> i % 4 & 1) {
			table_store_remove(store, quarter_tables[i], now_ns);
			quarter_tables[i] = NULL;
		}
}

static void assert_quarters(void)
{
	uint32_t i;

	for (i = 0; i < 4 * USABLE; i++)
		if (quarter_tables[i])
			assert_equals_table(quarter_tables[i], &quarters[i]);
}

/*
 * All chunks are three quarters empty. The one that is kept takes the rest of four others, which are free a second later, and so on:
 * in a few steps there is room for as much as has gone.
 */
static void compaction(void **state)
{
	static uint32_t before[GB_CHUNK_ROWS];
	struct stored_table *stored;
	uint64_t now = NOW, steps;

	fill_quarters();
	drop_quarters(0xe, NOW);
	assert_stats(USABLE, USABLE * CHUNKFUL_ROWS / 4, 4 * USABLE, 7 * USABLE, USABLE, 1);
	assert_refused(&chunkful, NOW + GRACE, -ENOSPC);
	memcpy(before, memory.pools[0][0].rows, sizeof(before));
	assert_true(table_store_tend(store, NOW + GRACE));
	assert_quarters();
	/* What was moved is not touched where it was. */
	assert_memory_equal(memory.pools[0][0].rows, before, sizeof(before));
	assert_refused(&chunkful, NOW + 2 * GRACE - 1, -ENOSPC);
	assert_memory_equal(memory.pools[0][0].rows, before, sizeof(before));
	assert_stats(USABLE, USABLE * CHUNKFUL_ROWS / 4, 4 * USABLE, 7 * USABLE, USABLE - 3, 1);
	for (steps = 1, now = NOW + 2 * GRACE; table_store_tend(store, now); now += GRACE)
		assert_true(++steps < 10);
	assert_quarters();
	assert_stats(USABLE, USABLE * CHUNKFUL_ROWS / 4, 4 * USABLE, 7 * USABLE, (USABLE + 3) / 4,
		     1);
	for (steps = (USABLE + 3) / 4; steps < USABLE; steps++) {
		stored = must_add(&chunkful, now);
		chunkfuls[steps] = stored;
	}
	assert_refused(&chunkful, now, -ENOSPC);
	assert_quarters();
	drop_quarters(1, now);
	while (steps-- > (USABLE + 3) / 4)
		table_store_remove(store, chunkfuls[steps], now);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* Nothing is moved as long as nobody wants the room, nor once what was wanted is there. */
static void compaction_unwanted(void **state)
{
	uint64_t now = NOW + GRACE;

	fill_quarters();
	assert_false(table_store_tend(store, now));
	drop_quarters(0x7, now);
	now += GRACE;
	assert_false(table_store_tend(store, now));
	assert_refused(&chunkful, now, -ENOSPC);
	while (table_store_tend(store, now))
		now += GRACE;
	now += GRACE;
	assert_false(table_store_tend(store, now));
	assert_quarters();
	drop_quarters(0x8, now);
	assert_false(table_store_tend(store, now + GRACE));
}

/* A chunk from which some rows have gone is not worth it. */
static void compaction_worth_it(void **state)
{
	static const struct shape most = {0, 16, 1000, 0, 1}, least = {0, 1, 200, 0, 1};
	struct stored_table *big[USABLE], *small[USABLE];
	size_t i;

	memory.pools_allowed = 1;
	for (i = 0; i < USABLE; i++) {
		big[i] = must_add(&most, NOW);
		small[i] = must_add(&least, NOW);
	}
	for (i = 0; i < USABLE; i++)
		table_store_remove(store, small[i], NOW);
	assert_refused(&chunkful, NOW + GRACE, -ENOSPC);
	assert_false(table_store_tend(store, NOW + GRACE));
	for (i = 0; i < USABLE; i++)
		table_store_remove(store, big[i], NOW);
}

static void could_hold(void **state)
{
	static const struct table_store_size none = {0};
	const uint64_t limit = (MAX_POOLS * GB_POOL_CHUNKS - 1) * GB_CHUNK_ROWS;
	struct stored_table *stored = must_add(&chunkful, NOW);
	const struct table_store_size own = {CHUNKFUL_ROWS, 16, 0}, all = {limit, GB_MAX_PAGES, 0};
	struct table_store_size size = {limit - own.rows, GB_MAX_PAGES - own.pages, 0};

	assert_true(table_store_could_hold(store, &size, &none));
	size.rows++;
	assert_false(table_store_could_hold(store, &size, &none));
	assert_true(table_store_could_hold(store, &size, &own));
	size.rows--;
	size.pages++;
	assert_false(table_store_could_hold(store, &size, &none));
	assert_false(table_store_could_hold(store, &all, &none));
	assert_true(table_store_could_hold(store, &all, &own));
	table_store_remove(store, stored, NOW);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(too_many_pages),      FRESH(pages_reused_after_grace),
		FRESH(free_pages_join),     FRESH(pages_mature_among_others),
		FRESH(pages_never_lost),    FRESH(pools_full),
		FRESH(pool_errors),         FRESH(chunks_reused_after_grace),
		FRESH(open_chunk_reused),   FRESH(chunk_in_use),
		FRESH(compaction),          FRESH(compaction_unwanted),
		FRESH(compaction_worth_it), FRESH(could_hold),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
