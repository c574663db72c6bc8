/* SPDX-License-Identifier: BSD-2-Clause */
/* test_unwind_limits.c - files that say more than a table is made of: what is beyond a limit is left out, and counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "made_fixture.h"
#include "unwind/limits.h"
#include "unwind/table.h"

#include "../unwind_rule.h"

static struct unwind_table *finish(struct made *made)
{
	struct unwind_source source = {.fd = -1, .image = made->bytes, .image_bytes = made->size};
	struct unwind_table *table = NULL;

	made_headers(made, made->frames - MADE_TEXT, made->size - made->frames);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	free(made->bytes);
	return table;
}

static uint8_t cfa_at(const struct unwind_table *table, uint32_t offset)
{
	const struct gb_unwind_rule *rule = unwind_table_find(table, MADE_TEXT + offset);

	assert_non_null(rule);
	return rule->cfa;
}

static void test_within_limits(void **state)
{
	struct made made = made_begin(4096, 4096);
	struct unwind_table *table;

	made_function(&made, 0, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_NONE);
	assert_int_equal(table->stats.skipped_bytes, 0);
	assert_int_equal(cfa_at(table, 0), GB_CFA_SP);
	unwind_table_close(table);
}

/* A gigabyte that is a hole: nothing of it is read. */
static void test_hole(void **state)
{
	struct made made = made_begin(4096, 4096);
	struct unwind_source source = {.fd = memfd_create("hole", MFD_CLOEXEC)};
	struct unwind_table *table = NULL;

	assert_true(source.fd >= 0);
	made_function(&made, 0, 100, 0);
	made_headers(&made, 4096, 1u << 30);
	assert_int_equal(pwrite(source.fd, made.bytes, made.size, 0), made.size);
	assert_int_equal(ftruncate(source.fd, (off_t)made.frames + (1 << 30)), 0);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_EH_FRAME);
	assert_int_equal(table->stats.fdes, 1);
	assert_int_equal(table->stats.skipped_bytes, 4096 - 100);
	assert_int_equal(cfa_at(table, 0), GB_CFA_SP);
	assert_int_equal(cfa_at(table, 100), GB_CFA_FRAME_POINTER);
	unwind_table_close(table);
	close(source.fd);
	free(made.bytes);
}

static void test_too_large(void **state)
{
	struct made made = made_begin(4096, UNWIND_EH_FRAME_MAX_BYTES + 64);
	struct unwind_table *table;

	made_function(&made, 0, 100, 0);
	made.size = made.frames + UNWIND_EH_FRAME_MAX_BYTES;
	made_function(&made, 200, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_EH_FRAME);
	assert_int_equal(cfa_at(table, 0), GB_CFA_SP);
	assert_int_equal(cfa_at(table, 200), GB_CFA_FRAME_POINTER);
	unwind_table_close(table);
}

static void test_too_many_functions(void **state)
{
	const uint32_t count = UNWIND_FUNCTIONS_MAX + 1000;
	struct made made = made_begin(count * 2, 64 + count * 17);
	struct unwind_table *table;
	uint32_t i;

	for (i = 0; i < count; i++)
		made_function(&made, 2 * i, 2, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_FUNCTIONS);
	assert_int_equal(table->stats.fdes, UNWIND_FUNCTIONS_MAX);
	assert_int_equal(cfa_at(table, 2 * UNWIND_FUNCTIONS_MAX - 2), GB_CFA_SP);
	assert_int_equal(cfa_at(table, 2 * UNWIND_FUNCTIONS_MAX), GB_CFA_FRAME_POINTER);
	unwind_table_close(table);
}

static void test_program_too_long(void **state)
{
	const uint32_t bytes = UNWIND_PROGRAM_MAX_BYTES + 1;
	struct made made = made_begin(4096, 4096 + bytes);
	struct unwind_table *table;

	made_function(&made, 0, 100, bytes);
	made.size += bytes; /* nops */
	made_function(&made, 100, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_PROGRAM);
	assert_int_equal(cfa_at(table, 0), GB_CFA_FRAME_POINTER);
	assert_int_equal(cfa_at(table, 100), GB_CFA_SP);
	unwind_table_close(table);
}

static void test_too_many_rules(void **state)
{
	const uint32_t count = UNWIND_RULES_MAX + 1000;
	struct made made = made_begin(count * 16, 4096 + count * 32);
	struct unwind_table *table;
	uint32_t i;

	for (i = 0; i < count; i++)
		made_distinct(&made, i * 16, 16, i);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_RULES);
	assert_int_equal(table->rule_count, UNWIND_RULES_MAX);
	assert_int_equal(cfa_at(table, 16), GB_CFA_SP);
	assert_int_equal(cfa_at(table, (count - 1) * 16), GB_CFA_FRAME_POINTER);
	assert_in_range(table->stats.skipped_bytes, 1000 * 16, 1100 * 16);
	unwind_table_close(table);
}

/* 1 GiB of text costs a table as many pages, of those that all files share. */
static void test_too_much_text(void **state)
{
	struct unwind_source source = {.fd = memfd_create("text", MFD_CLOEXEC)};
	struct made made = made_begin(4096, 4096);
	struct unwind_table *table = NULL;

	assert_true(source.fd >= 0);
	made_headers(&made, 1u << 30, 0);
	assert_int_equal(pwrite(source.fd, made.bytes, made.size, 0), made.size);
	assert_int_equal(ftruncate(source.fd, (1 << 30) + 8192), 0);
	assert_int_equal(unwind_table_compile(&table, &source), -EFBIG);
	close(source.fd);
	free(made.bytes);
}

static void test_every_limit_has_words(void **state)
{
	enum unwind_limit limit;

	for (limit = UNWIND_LIMIT_NONE + 1; limit < UNWIND_LIMIT_COUNT; limit++)
		assert_string_not_equal(unwind_limit_text(limit), "?");
	assert_string_equal(unwind_limit_text(UNWIND_LIMIT_COUNT), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_limits),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_too_many_functions),
		cmocka_unit_test(test_program_too_long),
		cmocka_unit_test(test_too_many_rules),
		cmocka_unit_test(test_too_much_text),
		cmocka_unit_test(test_every_limit_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
