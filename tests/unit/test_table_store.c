/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables made by hand, where they are laid out, and the rules that they share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table_store_fixture.h"

/* ---- layout ------------------------------------------------------------------------------------------------ */

static void layout(void **state)
{
	struct unwind_page pages[] = {{0, 2}, {2, 1}, {3, 3}};
	uint32_t rows[] = {ROW(0, 1), ROW(0x10, 0),  ROW(0, 1),
			   ROW(0, 2), ROW(0xffe, 0), ROW(0xfff, 1)};
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
	assert_int_equal(table_store_add(store, &table, NOW, &stored), 0);
	assert_stats(1, 6, 3, 3, 1, 1);
	assert_int_equal(stored_page_offset(stored), -0x401);
	assert_memory_equal(memory.pages, expected, sizeof(expected));
	assert_memory_equal(memory.pools[0][0].rows, rows, sizeof(rows));
	assert_memory_equal(memory.rules, rules, sizeof(rules));
	/* The first row of a page holds from 0, the last to its end. */
	assert_ptr_equal(table_store_find(store, 0, 0), &memory.rules[1]);
	assert_ptr_equal(table_store_find(store, 0, 0xf), &memory.rules[1]);
	assert_ptr_equal(table_store_find(store, 0, 0x10), &memory.rules[0]);
	assert_ptr_equal(table_store_find(store, 0, 0xfff), &memory.rules[0]);
	assert_ptr_equal(table_store_find(store, 1, 0xfff), &memory.rules[1]);
	assert_ptr_equal(table_store_find(store, 2, 0xffd), &memory.rules[2]);
	assert_ptr_equal(table_store_find(store, 2, 0xffe), &memory.rules[0]);
	assert_ptr_equal(table_store_find(store, 2, 0xfff), &memory.rules[1]);
	assert_null(table_store_find(store, 3, 0));
	assert_null(table_store_find(store, GB_MAX_PAGES, 0));
	assert_null(table_store_find(store, UINT32_MAX, 0));
	table_store_remove(store, stored, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
	assert_null(table_store_find(store, 0, 0));
	assert_null(table_store_find(store, 2, 0));
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
	table_store_remove(store, stored[1], NOW);
	assert_equals_table(stored[0], &shapes[0]);
	assert_equals_table(stored[2], &shapes[2]);
	assert_equals_table(stored[3], &shapes[3]);
	table_store_remove(store, stored[0], NOW);
	table_store_remove(store, stored[2], NOW);
	table_store_remove(store, stored[3], NOW);
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
	table_store_remove(store, stored, NOW);
	assert_stats(1, 16, 1, 1, 1, 1); /* the last chunk holds the small one */
	table_store_remove(store, last, NOW);
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
	table_store_remove(store, stored[0], NOW);
	table_store_remove(store, stored[1], NOW);
	table_store_remove(store, stored[2], NOW);
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
	table_store_remove(store, a, NOW);
	assert_stats(1, 4, 1, 4, 1, 1);
	assert_equals_table(b, &second);
	table_store_remove(store, b, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
	/* It is found again under its number. */
	c = must_add(&third, NOW);
	assert_stats(1, 1, 1, 1, 1, 1);
	assert_ptr_equal(table_store_find(store, page_base(c, &third), 0), &memory.rules[3]);
	assert_memory_equal(&memory.rules[3], &expected, sizeof(expected));
	table_store_remove(store, c, NOW);
}

/* Each field makes another rule. */
static void rules_are_told_apart(void **state)
{
	struct gb_unwind_rule rules[] = {
		{.cfa = 1},       {.fp = 1},
		{.ra = 1},        {.reg = 1},
		{.cfa_off = 1},   {.fp_off = 1},
		{.cfa_add = 1},   {.tracked_off = 1},
		{.cfa_off = -1},  {.fp_off = -1},
		{.cfa_add = -1},  {.tracked_off = -1},
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

	assert_int_equal(table_store_add(store, &table, NOW, &stored), 0);
	assert_stats(1, 1, 1, count, 1, 1);
	assert_memory_equal(memory.rules, rules, sizeof(rules));
	table_store_remove(store, stored, NOW);
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
	table_store_remove(store, a, NOW);
	table_store_remove(store, b, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* When numbers are out, one that nobody has used for a second becomes another rule's. */
static void rules_recycled(void **state)
{
	static const struct shape most = {0, 1, 8, 0, GB_MAX_RULES - 2},
				  two = {0, 1, 2, GB_MAX_RULES - 2, 2},
				  other = {0, 1, 3, GB_MAX_RULES, 3};
	struct stored_table *a = must_add(&most, NOW), *b = must_add(&two, NOW), *c;
	struct gb_unwind_rule expected = rule_of(3);

	table_store_remove(store, a, NOW);
	assert_refused(&other, NOW + GRACE - 1, -ENOSPC);
	assert_memory_equal(&memory.rules[3], &expected, sizeof(expected));
	c = must_add(&other, NOW + GRACE);
	assert_stats(2, 5, 2, 5, 1, 1);
	assert_equals_table(b, &two);
	assert_equals_table(c, &other);
	/* The others are found by what they are no more: they get new numbers. */
	a = must_add(&(struct shape){0, 1, 3, 0, GB_MAX_RULES - 5}, NOW + GRACE);
	assert_stats(3, 8, 3, GB_MAX_RULES, 1, 1);
	assert_equals_table(b, &two);
	assert_equals_table(c, &other);
	table_store_remove(store, a, NOW);
	table_store_remove(store, b, NOW);
	table_store_remove(store, c, NOW);
	assert_stats(0, 0, 0, 0, 0, 1);
}

/* Used again before its second is over, a rule keeps its number. */
static void rules_used_again(void **state)
{
	static const struct shape all = {0, 1, 8, 0, GB_MAX_RULES}, few = {0, 1, 3, 0, 3},
				  other = {0, 1, 1, GB_MAX_RULES, 1};
	struct stored_table *stored = must_add(&all, NOW), *kept, *added;

	table_store_remove(store, stored, NOW);
	kept = must_add(&few, NOW + GRACE / 2);
	added = must_add(&other, NOW + GRACE);
	assert_equals_table(kept, &few);
	assert_equals_table(added, &other);
	assert_ptr_equal(table_store_find(store, page_base(kept, &few), 0), &memory.rules[0]);
	table_store_remove(store, kept, NOW);
	table_store_remove(store, added, NOW);
}

/* ---- no memory -------------------------------------------------------------------------------------------------- */

static struct unwind_table *small_table;

static int live(void *context)
{
	struct stored_table *first = NULL, *second = NULL;
	int err = open_store();

	if (err)
		return err;
	err = table_store_add(store, small_table, NOW, &first);
	if (!err)
		err = table_store_add(store, small_table, NOW, &second);
	table_store_remove(store, first, NOW);
	table_store_remove(store, second, NOW);
	assert_stats(0, 0, 0, 0, 0, memory.pools_made);
	table_store_close(store);
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

static void nothing(void **state)
{
	table_store_close(NULL);
	table_store_remove(NULL, NULL, 0);
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
		FRESH(rules_recycled),
		FRESH(rules_used_again),
		cmocka_unit_test(failing_allocations),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
