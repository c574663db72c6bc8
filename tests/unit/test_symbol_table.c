/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbol_table.c - which symbols are functions, which of several is taken, and what they
 * cover.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "alloc.h"
#include "elf/elf_file.h"
#include "elf/name_budget.h"
#include "symbol/symbol_table.h"

enum { NULL_SECTION, TEXT, DATA, SYMBOLS, STRINGS, SECTIONS };

#define TEXT_START 0x1000
#define TEXT_END 0x2000

/*
 * A file in memory that has a symbol table and nothing else: the sections, then symbols and strings
 * in `image`.
 */
static struct elf_section sections[SECTIONS];
static char image[65536];
static struct elf_file file;
static size_t strings_used;
static struct name_budget budget;

static void file_reset(bool is_64_bit)
{
	memset(image, 0, sizeof(image));
	strings_used = 1;
	budget = (struct name_budget)NAME_BUDGET_START;
	sections[TEXT] = (struct elf_section){
		.name = ".text",
		.type = SHT_PROGBITS,
		.flags = SHF_ALLOC | SHF_EXECINSTR,
		.address = TEXT_START,
		.size = TEXT_END - TEXT_START,
	};
	sections[DATA] = (struct elf_section){
		.name = ".data",
		.type = SHT_PROGBITS,
		.flags = SHF_ALLOC | SHF_WRITE,
		.address = 0x3000,
		.size = 0x1000,
	};
	sections[SYMBOLS] = (struct elf_section){
		.name = ".symtab",
		.type = SHT_SYMTAB,
		.link = STRINGS,
		.entry_bytes = is_64_bit ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym),
	};
	sections[STRINGS] = (struct elf_section){
		.name = ".strtab",
		.type = SHT_STRTAB,
		.offset = 32768,
		.size = 1,
	};
	file = (struct elf_file){
		.fd = -1,
		.image = image,
		.size = sizeof(image),
		.is_64_bit = is_64_bit,
		.sections = sections,
		.section_count = SECTIONS,
	};
}

static void put_symbol(Elf64_Sym symbol)
{
	char *at = image + sections[SYMBOLS].size;

	if (file.is_64_bit) {
		memcpy(at, &symbol, sizeof(symbol));
	} else {
		Elf32_Sym small = {
			.st_name = symbol.st_name,
			.st_info = symbol.st_info,
			.st_shndx = symbol.st_shndx,
			.st_value = (Elf32_Addr)symbol.st_value,
			.st_size = (Elf32_Word)symbol.st_size,
		};

		memcpy(at, &small, sizeof(small));
	}
	sections[SYMBOLS].size += sections[SYMBOLS].entry_bytes;
}

static void put(const char *name, unsigned int type, unsigned int bind, uint16_t section,
		uint64_t address, uint64_t size)
{
	put_symbol((Elf64_Sym){
		.st_name = (Elf64_Word)strings_used,
		.st_info = ELF64_ST_INFO(bind, type),
		.st_shndx = section,
		.st_value = address,
		.st_size = size,
	});
	strcpy(image + sections[STRINGS].offset + strings_used, name);
	strings_used += strlen(name) + 1;
	sections[STRINGS].size = strings_used;
}

static void put_function(const char *name, uint64_t address, uint64_t size)
{
	put(name, STT_FUNC, STB_GLOBAL, TEXT, address, size);
}

static struct symbol_table *make_table(void)
{
	struct symbol_table *table = NULL;

	assert_int_equal(symbol_table_open(&table, &budget), 0);
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), 0);
	assert_int_equal(symbol_table_finish(table), 0);
	return table;
}

static void assert_at(struct symbol_table *table, uint64_t address, const char *name)
{
	struct table_symbol *symbol = symbol_table_find(table, address);
	uint64_t from, to;

	if (!name) {
		assert_null(symbol);
		return;
	}
	assert_non_null(symbol);
	assert_string_equal(symbol_table_name(table, symbol), name);
	/* All around it have the same answer. */
	symbol_table_extent(table, symbol, address, &from, &to);
	assert_in_range(address, from, to - 1);
	assert_ptr_equal(symbol_table_find(table, from), symbol);
	assert_ptr_equal(symbol_table_find(table, from + (to - from) / 2), symbol);
	assert_ptr_equal(symbol_table_find(table, to - 1), symbol);
}

/* All of them cover an address of the image: none is left out. */
static size_t count_symbols(struct symbol_table *table)
{
	const struct table_symbol *found[64];
	size_t count = 0, i;
	uint64_t address;

	for (address = 0; address < 0x4000; address++) {
		const struct table_symbol *symbol = symbol_table_find(table, address);

		for (i = 0; i < count && found[i] != symbol; i++)
			;
		if (!symbol || i < count)
			continue;
		assert_in_range(count, 0, 63);
		found[count++] = symbol;
	}
	assert_int_equal(count, symbol_table_count(table));
	return count;
}

static void test_sizes_are_honoured(void **state)
{
	struct symbol_table *table;
	bool is_64_bit = true;

	do {
		file_reset(is_64_bit);
		put_function("b", 0x1100, 0x10);
		put_function("a", 0x1000, 0x80);
		put_function("c", 0x1ff0, 0x100);
		table = make_table();
		assert_int_equal(count_symbols(table), 3);
		assert_at(table, 0, NULL);
		assert_at(table, 0xfff, NULL);
		assert_at(table, 0x1000, "a");
		assert_at(table, 0x107f, "a");
		assert_at(table, 0x1080, NULL);
		assert_at(table, 0x1100, "b");
		assert_at(table, 0x110f, "b");
		assert_at(table, 0x1110, NULL);
		/* No function is longer than its section. */
		assert_at(table, 0x1fff, "c");
		assert_at(table, 0x2000, NULL);
		assert_at(table, UINT64_MAX, NULL);
		symbol_table_close(table);
		is_64_bit = !is_64_bit;
	} while (!is_64_bit);
}

static void test_no_size(void **state)
{
	struct symbol_table *table;

	file_reset(true);
	put_function("a", 0x1000, 0);
	put_function("b", 0x1100, 0x10);
	put_function("c", 0x1200, 0);
	table = make_table();
	assert_at(table, 0x10ff, "a");
	assert_at(table, 0x1100, "b");
	assert_at(table, 0x1110, NULL);
	assert_at(table, 0x1fff, "c");
	assert_at(table, 0x2000, NULL);
	assert_int_equal(symbol_table_find(table, 0x1000)->flags, TABLE_SYMBOL_GUESSED);
	assert_int_equal(symbol_table_find(table, 0x1000)->size, 0x100);
	assert_int_equal(symbol_table_find(table, 0x1100)->flags, 0);
	symbol_table_close(table);
}

static void test_nested_and_overlapping(void **state)
{
	struct symbol_table *table;

	file_reset(true);
	put_function("outer", 0x1000, 0x100);
	put_function("inner", 0x1020, 0x40);
	put_function("innermost", 0x1030, 0x10);
	put_function("no_size", 0x1080, 0);
	put_function("across", 0x10f0, 0x100);
	table = make_table();
	assert_at(table, 0x101f, "outer");
	assert_at(table, 0x1020, "inner");
	assert_at(table, 0x1030, "innermost");
	assert_at(table, 0x1040, "inner");
	assert_at(table, 0x1060, "outer");
	assert_at(table, 0x1080, "no_size");
	assert_at(table, 0x10ef, "no_size");
	assert_at(table, 0x10f0, "across");
	assert_at(table, 0x11ef, "across");
	assert_at(table, 0x11f0, NULL);
	symbol_table_close(table);

	/* Nothing follows: the function of unknown size ends with the one around it. */
	file_reset(true);
	put_function("outer", 0x1000, 0x100);
	put_function("no_size", 0x1080, 0);
	put_function("next", 0x1200, 0x10);
	table = make_table();
	assert_at(table, 0x10ff, "no_size");
	assert_at(table, 0x1100, NULL);
	symbol_table_close(table);
}

static void test_labels(void **state)
{
	struct symbol_table *table;

	file_reset(true);
	put("label_in_function", STT_NOTYPE, STB_LOCAL, TEXT, 0x1010, 0);
	put_function("function", 0x1000, 0x100);
	put("alone", STT_NOTYPE, STB_GLOBAL, TEXT, 0x1200, 0);
	put(".Llabel", STT_NOTYPE, STB_LOCAL, TEXT, 0x1300, 0);
	put("$x", STT_NOTYPE, STB_LOCAL, TEXT, 0x1400, 0);
	put("data_label", STT_NOTYPE, STB_LOCAL, DATA, 0x3000, 0);
	put("at_end", STT_NOTYPE, STB_GLOBAL, TEXT, TEXT_END, 0);
	table = make_table();
	assert_at(table, 0x1010, "function");
	assert_at(table, 0x1100, NULL);
	assert_at(table, 0x1200, "alone");
	assert_at(table, 0x1500, "alone");
	assert_at(table, 0x3000, NULL);
	assert_int_equal(count_symbols(table), 2);
	symbol_table_close(table);

	/* A label that is dropped does not end the function of unknown size before it. */
	file_reset(true);
	put_function("outer", 0x1000, 0x100);
	put_function("no_size", 0x1040, 0);
	put("label", STT_NOTYPE, STB_LOCAL, TEXT, 0x1060, 0);
	table = make_table();
	assert_at(table, 0x1060, "no_size");
	symbol_table_close(table);
}

static void test_not_functions(void **state)
{
	struct symbol_table *table;

	file_reset(true);
	put("undefined", STT_FUNC, STB_GLOBAL, SHN_UNDEF, 0x1000, 0x10);
	put("absolute", STT_FUNC, STB_GLOBAL, SHN_ABS, 0x1000, 0x10);
	put("beyond", STT_FUNC, STB_GLOBAL, SECTIONS, 0x1000, 0x10);
	put("object", STT_OBJECT, STB_GLOBAL, TEXT, 0x1000, 0x10);
	put("outside", STT_FUNC, STB_GLOBAL, TEXT, 0x3000, 0x10);
	put("below", STT_FUNC, STB_GLOBAL, TEXT, 0xfff, 0x10);
	put("", STT_FUNC, STB_GLOBAL, TEXT, 0x1000, 0x10);
	put_symbol((Elf64_Sym){.st_name = UINT32_MAX,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			       .st_shndx = TEXT,
			       .st_value = 0x1000});
	put("resolver", STT_GNU_IFUNC, STB_GLOBAL, TEXT, 0x1800, 0x10);
	table = make_table();
	assert_int_equal(count_symbols(table), 1);
	assert_at(table, 0x1000, NULL);
	assert_at(table, 0x1800, "resolver");
	symbol_table_close(table);
}

static void test_choice(void **state)
{
	struct symbol_table *table;

	file_reset(true);
	put("label", STT_NOTYPE, STB_GLOBAL, TEXT, 0x1000, 0x80);
	put("local", STT_FUNC, STB_LOCAL, TEXT, 0x1000, 0x10);
	put("weak", STT_FUNC, STB_WEAK, TEXT, 0x1100, 0x80);
	put("__global", STT_FUNC, STB_GLOBAL, TEXT, 0x1100, 0x10);
	put("weak2", STT_FUNC, STB_WEAK, TEXT, 0x1200, 0x10);
	put("local2", STT_FUNC, STB_LOCAL, TEXT, 0x1200, 0x80);
	put("short", STT_FUNC, STB_GLOBAL, TEXT, 0x1300, 0x10);
	put("long", STT_FUNC, STB_GLOBAL, TEXT, 0x1300, 0x20);
	put("__libc_malloc", STT_FUNC, STB_GLOBAL, TEXT, 0x1400, 0x10);
	put("malloc", STT_FUNC, STB_GLOBAL, TEXT, 0x1400, 0x10);
	put("_Z1av", STT_FUNC, STB_GLOBAL, TEXT, 0x1500, 0x10);
	put("_a_longer_one", STT_FUNC, STB_GLOBAL, TEXT, 0x1500, 0x10);
	put("_ZN1b1bEv", STT_FUNC, STB_GLOBAL, TEXT, 0x1500, 0x10);
	put("strtoll", STT_FUNC, STB_GLOBAL, TEXT, 0x1700, 0x10);
	put("strtol", STT_FUNC, STB_GLOBAL, TEXT, 0x1700, 0x10);
	put("strtoq", STT_FUNC, STB_GLOBAL, TEXT, 0x1700, 0x10);
	put("no_size", STT_FUNC, STB_GLOBAL, TEXT, 0x1600, 0);
	put("sized", STT_FUNC, STB_LOCAL, TEXT, 0x1600, 0x10);
	table = make_table();
	assert_at(table, 0x1000, "local");
	assert_at(table, 0x1010, NULL);
	assert_at(table, 0x1100, "__global");
	assert_at(table, 0x1200, "weak2");
	assert_at(table, 0x1300, "long");
	assert_at(table, 0x1400, "malloc");
	assert_at(table, 0x1500, "_Z1av");
	assert_at(table, 0x1600, "sized");
	assert_at(table, 0x1700, "strtol");
	assert_int_equal(count_symbols(table), 8);
	symbol_table_close(table);
}

static void test_merging(void **state)
{
	struct symbol_table *table;
	uint8_t source = 99;

	assert_int_equal(symbol_table_open(&table, &budget), 0);
	file_reset(true);
	put_function("a", 0x1000, 0x10);
	put_function("same", 0x1100, 0x10);
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], &source), 0);
	assert_int_equal(source, 0);
	file_reset(true);
	put_function("same", 0x1100, 0x10);
	put_function("longer_name_elsewhere", 0x1200, 0x10);
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], &source), 0);
	assert_int_equal(source, 1);
	assert_int_equal(symbol_table_add_stub(table, 1, 6, 0x1300, 16), 0);
	assert_int_equal(symbol_table_add_stub(table, 1, 0, 0x1400, 16), -ENOEXEC);
	assert_int_equal(symbol_table_add_stub(table, 1, UINT32_MAX, 0x1400, 16), -ENOEXEC);
	assert_int_equal(symbol_table_finish(table), 0);
	assert_int_equal(count_symbols(table), 4);
	assert_at(table, 0x1000, "a");
	assert_at(table, 0x1100, "same");
	assert_at(table, 0x1200, "longer_name_elsewhere");
	assert_at(table, 0x130f, "longer_name_elsewhere");
	assert_int_equal(symbol_table_find(table, 0x130f)->flags, TABLE_SYMBOL_STUB);
	symbol_table_close(table);
}

static void test_malformed(void **state)
{
	struct symbol_table *table;

	assert_int_equal(symbol_table_open(&table, &budget), 0);
	file_reset(true);
	put_function("a", 0x1000, 0x10);
	sections[SYMBOLS].entry_bytes = 16;
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENOEXEC);
	sections[SYMBOLS].entry_bytes = sizeof(Elf64_Sym);
	sections[SYMBOLS].link = SECTIONS;
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENOEXEC);
	sections[SYMBOLS].link = TEXT;
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENOEXEC);
	sections[SYMBOLS].link = STRINGS;
	sections[SYMBOLS].offset = UINT64_MAX - 4;
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENODATA);
	sections[SYMBOLS].offset = 0;
	sections[STRINGS].size = sizeof(image);
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENODATA);
	sections[STRINGS].size = 1ULL << 40;
	assert_int_equal(symbol_table_add(table, &file, &sections[SYMBOLS], NULL), -ENODATA);
	assert_int_equal(symbol_table_finish(table), 0);
	assert_int_equal(count_symbols(table), 0);
	assert_at(table, 0x1000, NULL);
	symbol_table_close(table);
	symbol_table_close(NULL);
}

/* Random functions, against a search through all of them. */
static void test_random_layouts(void **state)
{
	unsigned int seed = 42, round;

	for (round = 0; round < 200; round++) {
		struct symbol_table *table;
		uint64_t start[20], end[20], address;
		char name[8] = "f?";
		size_t i;

		file_reset(true);
		for (i = 0; i < 20; i++) {
			/* Different starts, so that there is no choice to be made. */
			start[i] = TEXT_START + i * 20 + (uint64_t)rand_r(&seed) % 20;
			end[i] = start[i] + 1 + (uint64_t)rand_r(&seed) % 100;
			name[1] = (char)('a' + i);
			put_function(name, start[i], end[i] - start[i]);
		}
		table = make_table();
		for (address = TEXT_START; address < TEXT_START + 600; address++) {
			for (i = 20; i && !(start[i - 1] <= address && address < end[i - 1]); i--)
				;
			name[1] = (char)('a' + i - 1);
			assert_at(table, address, i ? name : NULL);
		}
		symbol_table_close(table);
	}
}

static void test_no_memory(void **state)
{
	struct symbol_table *table;
	size_t n;
	int err;

	file_reset(true);
	put_function("b", 0x1100, 0x10);
	put_function("a", 0x1000, 0x80);
	for (n = 1;; n++) {
		alloc_fail_at(n);
		err = symbol_table_open(&table, &budget);
		if (!err) {
			err = symbol_table_add(table, &file, &sections[SYMBOLS], NULL);
			if (!err)
				err = symbol_table_add_stub(table, 0, 1, 0x1200, 16);
			if (!err)
				err = symbol_table_finish(table);
			/* Only giving memory back may fail without consequence. */
			if (!err)
				assert_at(table, 0x1100, "b");
			symbol_table_close(table);
		}
		if (!alloc_fail_stop())
			break;
		assert_true(!err || err == -ENOMEM);
	}
	assert_int_equal(err, 0);
	assert_true(n >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_honoured),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_nested_and_overlapping),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_not_functions),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_random_layouts),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
