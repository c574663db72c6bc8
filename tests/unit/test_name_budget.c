/* SPDX-License-Identifier: BSD-2-Clause */
/* test_name_budget.c - what a file may cost that was made to cost much: its symbols are left out, and others have theirs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "elf/name_budget.h"
#include "elf_fixture.h"
#include "made_elf.h"
#include "symbol/name_strings.h"
#include "symbol/symbol_table.h"
#include "symbol_files_fixture.h"

#define GIB (1ULL << 30)

static struct name_budget budget;

static int set_budget(void **state)
{
	budget = (struct name_budget)NAME_BUDGET_START;
	return 0;
}

/* ---- symbol tables ------------------------------------------------------------------------ */

static int read_table(struct symbol_table **table, const char *name)
{
	struct elf_file *file;
	int err;

	assert_int_equal(symbol_table_open(table, &budget), 0);
	assert_int_equal(fixture_open(&file, fixture_path(name)), 0);
	err = symbol_table_add(*table, file, elf_file_typed(file, SHT_SYMTAB), NULL);
	elf_file_close(file);
	assert_int_equal(symbol_table_finish(*table), 0);
	return err;
}

static const char *name_at(struct symbol_table *table, uint64_t address)
{
	const struct table_symbol *symbol = symbol_table_find(table, address);

	return symbol ? symbol_table_name(table, symbol) : NULL;
}

/* A gigabyte of symbols, of which one is not in a hole, with a gigabyte of strings, of which one is none. */
static void make_sparse(const char *name)
{
	const Elf64_Sym symbol = made_function(GIB / 2, MADE_CODE + 16, 32);
	const uint64_t count = GIB / sizeof(symbol), strings = 2 * GIB;
	struct made_elf elf;

	made_begin(&elf, fixture_path(name), 4096);
	made_symbols(&elf, GIB, count);
	made_section(&elf, ".strtab", SHT_STRTAB, strings, GIB);
	made_put(&elf, &symbol, sizeof(symbol), GIB + (count - 1) * sizeof(symbol));
	made_put(&elf, "far", 3, strings + GIB / 2);
	made_end(&elf, 3 * GIB);
}

static void holes_cost_nothing(void **state)
{
	const struct name_budget before = budget;
	struct symbol_table *table;

	make_sparse("sparse.so");
	assert_int_equal(read_table(&table, "sparse.so"), 0);
	assert_string_equal(name_at(table, MADE_CODE + 20), "far");
	assert_null(name_at(table, MADE_CODE));
	assert_in_range(before.table_bytes - budget.table_bytes, 1, 1 << 20);
	assert_in_range(before.string_bytes - budget.string_bytes, 1, 4 << 20);
	symbol_table_close(table);
	assert_int_equal(budget.functions, before.functions);
	assert_int_equal(budget.string_bytes, before.string_bytes);
}

/* Functions of four bytes one after the other, called "f0", "f1", and so on; each 100th has a name of 10,000 bytes. */
static void make_many(const char *name, uint32_t count)
{
	const size_t room = 16 * (size_t)count + 10002 * (size_t)(count / 100 + 1);
	Elf64_Sym *symbols = calloc(count, sizeof(*symbols));
	char *strings = calloc(1, room);
	size_t used = 1;
	struct made_elf elf;
	uint32_t i;

	for (i = 0; i < count; i++) {
		symbols[i] = made_function((uint32_t)used, MADE_CODE + 4ULL * i, 4);
		used += (size_t)sprintf(strings + used, "f%u%0*u", i, i % 100 ? 1 : 9990, 0U) + 1;
	}
	made_begin(&elf, fixture_path(name), 4ULL * count);
	made_symbols(&elf, 1 << 24, count);
	made_section(&elf, ".strtab", SHT_STRTAB, 1 << 26, used);
	made_put(&elf, symbols, count * sizeof(*symbols), 1 << 24);
	made_put(&elf, strings, used, 1 << 26);
	made_end(&elf, 1 << 28);
	free(symbols);
	free(strings);
}

/* Strings that find no room in memory are read when they are asked for, and are the same. */
static void strings_without_room(void **state)
{
	struct symbol_table *with, *without;
	uint32_t i;

	make_many("many.so", 20000);
	assert_int_equal(read_table(&with, "many.so"), 0);
	budget.string_bytes = 3 << 20;
	assert_int_equal(read_table(&without, "many.so"), 0);
	for (i = 0; i < 20000; i++) {
		const uint64_t address = MADE_CODE + 4 * (i * 1237 % 20000);

		assert_string_equal(name_at(without, address), name_at(with, address));
	}
	symbol_table_close(with);
	symbol_table_close(without);
}

static int read_many(void)
{
	struct symbol_table *table;
	struct elf_file *file;
	int err = symbol_table_open(&table, &budget);

	if (err)
		return err;
	err = fixture_open(&file, fixture_path("many.so"));
	if (!err) {
		err = symbol_table_add(table, file, elf_file_typed(file, SHT_SYMTAB), NULL);
		elf_file_close(file);
	}
	if (!err)
		err = symbol_table_finish(table);
	symbol_table_close(table);
	return err;
}

/* Whatever fails, what was taken from the budget is given back. */
static void no_memory(void **state)
{
	uint64_t functions = budget.functions;
	size_t n;

	make_many("many.so", 20000);
	budget.string_bytes = 3 << 20;
	for (n = 1;; n++) {
		int err;

		alloc_fail_at(n);
		err = read_many();
		if (!alloc_fail_stop())
			break;
		/* Only giving memory back may fail without consequence. */
		assert_true(!err || err == -ENOMEM);
		assert_int_equal(budget.functions, functions);
		assert_int_equal(budget.string_bytes, 3 << 20);
	}
	assert_true(n > 5);
}

static void more_functions_than_there_is_room_for(void **state)
{
	struct symbol_table *table, *other;

	make_many("many.so", 3000);
	make_many("few.so", 100);
	budget.functions = 5000;
	assert_int_equal(read_table(&table, "many.so"), -EFBIG);
	assert_null(name_at(table, MADE_CODE));
	/* The next one has what it needs; and what a table had is given back. */
	assert_int_equal(read_table(&other, "few.so"), 0);
	assert_non_null(name_at(other, MADE_CODE));
	assert_int_equal(budget.functions, 4900);
	symbol_table_close(table);
	symbol_table_close(other);
	assert_int_equal(budget.functions, 5000);
}

static void more_bytes_than_are_read(void **state)
{
	struct symbol_table *table;

	make_many("many.so", 3000);
	budget.table_bytes = 3000 * sizeof(Elf64_Sym);
	assert_int_equal(read_table(&table, "many.so"), -EFBIG);
	assert_null(name_at(table, MADE_CODE));
	symbol_table_close(table);
}

#define NESTED 200000

/* Each begins within the one before, and all end at the same place: the last of those that are left out ends a walk at once. */
static void functions_within_functions(void **state)
{
	const uint64_t end = MADE_CODE + 8ULL * NESTED;
	Elf64_Sym *symbols = calloc(NESTED, sizeof(*symbols));
	struct symbol_table *table;
	struct made_elf elf;
	uint64_t i;

	for (i = 0; i < NESTED; i++)
		symbols[i] = made_function(1, MADE_CODE + 8 * i, end - MADE_CODE - 8 * i);
	made_begin(&elf, fixture_path("nested.so"), 16ULL * NESTED);
	made_symbols(&elf, 1 << 24, NESTED);
	made_section(&elf, ".strtab", SHT_STRTAB, 1 << 26, 3);
	made_put(&elf, symbols, NESTED * sizeof(*symbols), 1 << 24);
	made_put(&elf, "\0f", 3, 1 << 26);
	made_end(&elf, 1 << 27);
	free(symbols);
	assert_int_equal(read_table(&table, "nested.so"), 0);
	assert_true(symbol_table_is_cut(table));
	assert_in_range(symbol_table_count(table), 2, 64);
	assert_null(name_at(table, end));
	assert_int_equal(symbol_table_find(table, end - 1)->depth + 1, symbol_table_count(table));
	symbol_table_close(table);
}

/* ---- files ---------------------------------------------------------------------------------- */

static enum symbol_trouble trouble_of(struct symbol_file *file)
{
	struct other_file other;

	return symbol_file_trouble(file, &other);
}

/* Names of 16,000 bytes, each of which is the end of another: a file of 100 kB has 40 MB of them. */
static void longer_names_than_are_kept(void **state)
{
	enum { COUNT = 2500, LENGTH = 16000 };
	static char strings[1 + COUNT + LENGTH + 1];
	struct symbol_files *files = open_symbol_files();
	struct symbol_file *file, *other;
	struct made_elf elf;
	struct symbol symbol;
	uint32_t i, answered = 0, random = 1;

	for (i = 1; i <= COUNT + LENGTH; i++) {
		random = random * 1103515245 + 12345;
		strings[i] = (char)('a' + (random >> 16) % 26);
	}
	made_begin(&elf, fixture_path("long.so"), 4ULL * COUNT);
	made_symbols(&elf, 1 << 16, COUNT);
	made_section(&elf, ".strtab", SHT_STRTAB, 1 << 18, sizeof(strings));
	for (i = 0; i < COUNT; i++) {
		const Elf64_Sym function = made_function(1 + i, MADE_CODE + 4ULL * i, 4);

		made_put(&elf, &function, sizeof(function), (1 << 16) + i * sizeof(function));
	}
	made_put(&elf, strings, sizeof(strings), 1 << 18);
	made_end(&elf, 1 << 20);
	file = add_path(files, fixture_path("long.so"));
	for (i = 0; i < COUNT; i++)
		answered += !symbol_file_lookup(file, MADE_CODE + 4ULL * i, &symbol);
	assert_in_range(answered, COUNT / 2, COUNT - 1);
	assert_int_equal(trouble_of(file), SYMBOL_TROUBLE_TOO_LARGE);
	make_many("few.so", 100);
	other = add_path(files, fixture_path("few.so"));
	assert_int_equal(symbol_file_lookup(other, MADE_CODE + 4, &symbol), 0);
	symbol_files_close(files);
}

/* Where functions are is not looked for in a terabyte of code. */
static void more_code_than_is_walked(void **state)
{
	struct symbol_files *files = open_symbol_files();
	struct symbol_file *file;
	struct symbol symbol;
	struct made_elf elf;

	made_begin(&elf, fixture_path("huge.so"), 1ULL << 40);
	made_end(&elf, (1ULL << 40) + 8192);
	file = add_path(files, fixture_path("huge.so"));
	assert_int_equal(symbol_file_function(file, MADE_CODE, &symbol), -ENOEXEC);
	assert_int_equal(trouble_of(file), SYMBOL_TROUBLE_TOO_LARGE);
	symbol_files_close(files);
}

/* A table of Go's that says where one function is, and goes on for long. */
static void make_go(const char *name, uint64_t bytes)
{
	const struct {
		uint32_t magic;
		uint8_t rest[4];
		uint64_t functions, files, text, names, units, file_names, values, list;
	} header = {0xfffffff1, {0, 0, 1, 8}, 1, 0, MADE_CODE, 96, 96, 96, 96, 128};
	const uint32_t list[] = {0, 32, 64};
	struct made_elf elf;

	made_begin(&elf, fixture_path(name), 4096);
	made_section(&elf, ".gopclntab", SHT_PROGBITS, 1 << 16, bytes);
	made_put(&elf, &header, sizeof(header), 1 << 16);
	made_put(&elf, list, sizeof(list), (1 << 16) + 128);
	made_end(&elf, (1 << 17) + bytes);
}

static void lists_that_take_too_much_memory(void **state)
{
	struct symbol_files *files = open_symbol_files();
	struct symbol_file *large, *small;
	struct symbol symbol;

	make_go("large.so", 100 << 20);
	make_go("small.so", 1 << 20);
	large = add_path(files, fixture_path("large.so"));
	assert_int_equal(symbol_file_function(large, MADE_CODE, &symbol), -ENOEXEC);
	assert_int_equal(trouble_of(large), SYMBOL_TROUBLE_TOO_LARGE);
	small = add_path(files, fixture_path("small.so"));
	assert_int_not_equal(symbol_file_function(small, MADE_CODE, &symbol), -ENOEXEC);
	assert_int_equal(trouble_of(small), SYMBOL_TROUBLE_STRIPPED);
	symbol_files_close(files);
}

/* Without build ids the whole of a debug file would have to be read. */
static void debug_file_too_large_to_sum_up(void **state)
{
	static const char link[] = "huge.debug\0\0\1\2\3\4";
	struct symbol_files *files = open_symbol_files();
	struct symbol_file *file;
	struct symbol symbol;
	struct made_elf elf;

	make_many("huge.debug", 10);
	assert_int_equal(truncate(fixture_path("huge.debug"), 4LL << 40), 0);
	made_begin(&elf, fixture_path("link.so"), 4096);
	made_section(&elf, ".gnu_debuglink", SHT_PROGBITS, 1 << 16, sizeof(link) - 1);
	made_put(&elf, link, sizeof(link) - 1, 1 << 16);
	made_end(&elf, 1 << 17);
	file = add_path(files, fixture_path("link.so"));
	assert_int_equal(symbol_file_lookup(file, MADE_CODE, &symbol), -ENOENT);
	assert_int_equal(trouble_of(file), SYMBOL_TROUBLE_TOO_LARGE);
	symbol_files_close(files);
}

/* What is packed into one comes to 80 MiB. */
static void embedded_symbols_that_unpack_to_too_much(void **state)
{
	struct symbol_files *files = open_symbol_files();
	struct symbol_file *file;
	struct symbol symbol;
	struct made_elf elf;
	size_t size;
	char *packed;

	if (!fixture_run("head -c 80M /dev/zero | xz -1 > zero.xz"))
		skip();
	packed = fixture_read("zero.xz", &size);
	made_begin(&elf, fixture_path("xz.so"), 4096);
	made_section(&elf, ".gnu_debugdata", SHT_PROGBITS, 1 << 16, size);
	made_put(&elf, packed, size, 1 << 16);
	made_end(&elf, 1 << 24);
	free(packed);
	file = add_path(files, fixture_path("xz.so"));
	assert_int_equal(symbol_file_lookup(file, MADE_CODE, &symbol), -ENOENT);
	assert_int_equal(trouble_of(file), SYMBOL_TROUBLE_TOO_LARGE);
	symbol_files_close(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(holes_cost_nothing, set_budget),
		cmocka_unit_test_setup(strings_without_room, set_budget),
		cmocka_unit_test_setup(no_memory, set_budget),
		cmocka_unit_test_setup(more_functions_than_there_is_room_for, set_budget),
		cmocka_unit_test_setup(more_bytes_than_are_read, set_budget),
		cmocka_unit_test_setup(functions_within_functions, set_budget),
		cmocka_unit_test(longer_names_than_are_kept),
		cmocka_unit_test(more_code_than_is_walked),
		cmocka_unit_test(lists_that_take_too_much_memory),
		cmocka_unit_test(debug_file_too_large_to_sum_up),
		cmocka_unit_test(embedded_symbols_that_unpack_to_too_much),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
