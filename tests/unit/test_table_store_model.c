/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weeks of tables that come and go, at random, in little memory: against a model that remembers of every table what it is made of.
 *
 * After every step, what has changed in memory is looked at: nothing may have been written that a reader could still have reached in
 * the second before. Every table that is stored says at every page what it was made of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table_store_fixture.h"

#define STEPS 40000
#define TABLES 48
#define STEP_NS 40000000ULL /* about as many as this between two steps */
#define RULE_SPAN                                                                                  \
	(4 * GB_MAX_RULES) /* so many rules there are in all: their numbers are recycled */
#define CHUNKS (MODEL_POOLS * GB_POOL_CHUNKS)
#define MODEL_POOLS 1

/* ---- random ---------------------------------------------------------------------------------------------------- */

static uint64_t seed;

static uint32_t below(uint32_t limit)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((seed >> 33) % limit);
}

/* ---- what readers may still look at -------------------------------------------------------------------------------- */

/* What was there when it was last looked at, and until when a reader may be looking at it. Rows and rules. */
static struct {
	uint32_t rows[CHUNKS][GB_CHUNK_ROWS];
	uint64_t row_until[CHUNKS][GB_CHUNK_ROWS /
				   16]; /* by 16 rows: pages begin and end there in this test */
	struct gb_unwind_rule rules[GB_MAX_RULES];
	uint64_t rule_until[GB_MAX_RULES];
} seen;

static void see_rule(uint32_t number, uint64_t until)
{
	if (seen.rule_until[number] < until) {
		seen.rule_until[number] = until;
		seen.rules[number] = memory.rules[number];
	}
}

/* A reader that looks at `page` now may do so up to a second longer. */
static void see_page(const struct gb_page *page, uint64_t now)
{
	const uint32_t *rows = rows_of(page);
	uint32_t i;

	assert_true(page->chunk < CHUNKS);
	assert_int_equal(page->first % 16, 0);
	for (i = page->first / 16; i < (page->first + page->count) / 16u; i++)
		seen.row_until[page->chunk][i] = now + GRACE;
	memcpy(&seen.rows[page->chunk][page->first], rows, page->count * sizeof(rows[0]));
	for (i = 0; i < page->count; i += 16)
		see_rule(rows[i] >> UNWIND_PAGE_BITS, now + GRACE);
}

static void assert_unchanged(uint64_t now)
{
	uint32_t chunk, i;

	for (chunk = 0; chunk < memory.pools_made * GB_POOL_CHUNKS; chunk++)
		for (i = 0; i < GB_CHUNK_ROWS / 16; i++)
			if (seen.row_until[chunk][i] > now)
				assert_false(memcmp(&seen.rows[chunk][16 * i],
						    &memory.pools[0][chunk].rows[16 * i], 64));
	for (i = 0; i < GB_MAX_RULES; i++)
		if (seen.rule_until[i] > now)
			assert_false(
				memcmp(&seen.rules[i], &memory.rules[i], sizeof(seen.rules[i])));
}

/* ---- the model -------------------------------------------------------------------------------------------------------- */

/* A table has page_count pages of 16 rows or a multiple; all rows of a page have one rule, of a page's own. */
static struct model {
	struct stored_table *stored; /* NULL: there is none */
	uint32_t page_count, rule_base;
	uint32_t rows_per_page;
	uint64_t removed_ns;
} models[TABLES];

static struct gb_unwind_rule model_rule(const struct model *model, uint32_t page)
{
	return rule_of((model->rule_base + page) % RULE_SPAN);
}

static struct unwind_table *model_table(const struct model *model)
{
	const struct shape shape = {0, model->page_count, model->rows_per_page, 0,
				    model->page_count};
	struct unwind_table *table = make_table(&shape);
	uint32_t i;

	for (i = 0; i < table->row_count; i++)
		table->rows[i] = ROW(table->rows[i] & 4095, i / model->rows_per_page);
	for (i = 0; i < model->page_count; i++)
		table->rules[i] = model_rule(model, i);
	return table;
}

static uint32_t model_first(const struct model *model)
{
	return (uint32_t)stored_page_offset(model->stored);
}

/* All that is stored is what it was made of; and a reader looks at all of it. */
static void check_models(uint64_t now)
{
	size_t i;

	for (i = 0; i < TABLES; i++) {
		const struct model *model = &models[i];
		uint32_t page;

		for (page = 0; model->stored && page < model->page_count; page++) {
			const struct gb_unwind_rule expected = model_rule(model, page);
			uint32_t at = model_first(model) + page;

			assert_false(memcmp(table_store_find(store, at, below(4096)), &expected,
					    sizeof(expected)));
			see_page(&memory.pages[at], now);
		}
	}
}

static void assert_model_stats(void)
{
	struct table_store_stats stats = table_store_get_stats(store);
	uint64_t tables = 0, rows = 0, pages = 0;
	size_t i;

	for (i = 0; i < TABLES; i++) {
		if (!models[i].stored)
			continue;
		tables++;
		pages += models[i].page_count;
		rows += models[i].page_count * models[i].rows_per_page;
	}
	assert_int_equal(stats.tables, tables);
	assert_int_equal(stats.pages, pages);
	assert_int_equal(stats.rows, rows);
	assert_int_equal(stats.pools, memory.pools_made);
}

/* ---- steps ------------------------------------------------------------------------------------------------------------------ */

static struct {
	uint64_t added, refused, moved, in_vain;
} tally;

static void model_add(struct model *model, uint64_t now)
{
	static const uint32_t sizes[] = {16, 48, 80, 256, 1008};
	static const struct table_store_size none;
	struct unwind_table *table;
	struct table_store_size size;
	int err;

	model->rows_per_page = sizes[below(5)];
	model->page_count = 1 + below(below(4) ? 40 : 400);
	model->rule_base = below(RULE_SPAN);
	size.pages = model->page_count;
	size.rows = model->page_count * model->rows_per_page;
	table = model_table(model);
	err = table_store_add(store, table, now, &model->stored);
	unwind_table_close(table);
	if (!err) {
		tally.added++;
		return;
	}
	assert_int_equal(err, -ENOSPC);
	tally.refused++;
	tally.in_vain += table_store_could_hold(store, &size, &none);
}

static void step(uint64_t now)
{
	struct model *model = &models[below(TABLES)];

	if (!model->stored)
		model_add(model, now);
	else if (below(3)) {
		table_store_remove(store, model->stored, now);
		model->stored = NULL;
	}
	tally.moved += table_store_tend(store, now);
}

static void weeks(void)
{
	uint64_t now = NOW;
	size_t i;

	for (i = 0; i < STEPS; i++) {
		now += below(2 * STEP_NS);
		step(now);
		if (i % 16)
			continue;
		assert_unchanged(now);
		check_models(now);
		assert_model_stats();
	}
	print_message("added %lu, refused %lu, of them for pieces %lu, compacted %lu times\n",
		      tally.added, tally.refused, tally.in_vain, tally.moved);
	/* It was about full, all the time; it would be refused sooner if any of it were lost. */
	assert_true(tally.added > STEPS / 4);
	assert_true(tally.moved > STEPS / 100);
	assert_true(tally.refused > tally.in_vain);
}

/* When all have gone, all room is back. */
static void all_of_it(void **state)
{
	static const struct shape all = {0, GB_MAX_PAGES, 1, 0, GB_MAX_RULES};
	struct stored_table *stored;
	size_t i;

	weeks();
	for (i = 0; i < TABLES; i++)
		table_store_remove(store, models[i].stored, NOW);
	assert_stats(0, 0, 0, 0, 0, MODEL_POOLS);
	stored = must_add(&all, UINT64_MAX);
	assert_int_equal(page_base(stored, &all), 0);
	table_store_remove(store, stored, NOW);
}

static int setup_little(void **state)
{
	max_pools = MODEL_POOLS;
	return open_store();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_of_it, setup_little, teardown),
	};

	return cmocka_run_group_tests(tests, setup_memory, teardown_memory);
}
