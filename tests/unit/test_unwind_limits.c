/* SPDX-License-Identifier: BSD-2-Clause */
/* test_unwind_limits.c - files that say more than a table is made of: what is beyond a limit is left out, and counted. */
#include <elf.h>
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
#include "unwind/limits.h"
#include "unwind/table.h"

#include "../unwind_rule.h"

#define TEXT 0x1000u
#define NAMES "\0.eh_frame\0.shstrtab"
#define FRAMES_ADDRESS 0x40000000u /* far from the text */

/* A file: headers, text, .eh_frame. */
struct made {
	uint8_t *bytes;
	size_t size, capacity, frames;
};

static void put(struct made *made, const void *data, size_t size)
{
	assert_true(made->size + size <= made->capacity);
	memcpy(made->bytes + made->size, data, size);
	made->size += size;
}

static void put_word(struct made *made, uint32_t word)
{
	put(made, &word, sizeof(word));
}

static void put_uleb(struct made *made, uint32_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		put(made, &byte, 1);
		value >>= 7;
	} while (value);
}

static void make_headers(struct made *made, size_t text_bytes, uint64_t frame_bytes)
{
	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = 64,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = 256,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr load = {.p_type = PT_LOAD,
				 .p_flags = PF_R | PF_X,
				 .p_offset = TEXT,
				 .p_vaddr = TEXT,
				 .p_filesz = text_bytes,
				 .p_memsz = text_bytes};
	const Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_flags = SHF_ALLOC,
		 .sh_addr = FRAMES_ADDRESS,
		 .sh_offset = TEXT + text_bytes,
		 .sh_size = frame_bytes},
		{.sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = 512, .sh_size = sizeof(NAMES)},
	};

	memcpy(made->bytes, &header, sizeof(header));
	memcpy(made->bytes + 64, &load, sizeof(load));
	memcpy(made->bytes + 256, sections, sizeof(sections));
	memcpy(made->bytes + 512, NAMES, sizeof(NAMES));
}

/* Text of zeros, then a CIE that says what every compiler's does. */
static struct made begin(size_t text_bytes, size_t frame_bytes)
{
	static const char cie[] =
		"\x14\0\0\0\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0";
	struct made made = {.capacity = TEXT + text_bytes + frame_bytes};

	made.bytes = calloc(1, made.capacity);
	assert_non_null(made.bytes);
	made.frames = made.size = TEXT + text_bytes;
	put(&made, cie, 24);
	return made;
}

/* Up to its program, of which there are so many bytes. */
static void begin_function(struct made *made, uint32_t start, uint32_t size, uint32_t program_bytes)
{
	uint32_t at = (uint32_t)(made->size - made->frames);

	put_word(made, 13 + program_bytes);
	put_word(made, at + 4);
	put_word(made, TEXT + start - (FRAMES_ADDRESS + at + 8));
	put_word(made, size);
	put(made, "", 1);
}

static struct unwind_table *finish(struct made *made)
{
	struct unwind_source source = {.fd = -1, .image = made->bytes, .image_bytes = made->size};
	struct unwind_table *table = NULL;

	make_headers(made, made->frames - TEXT, made->size - made->frames);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	free(made->bytes);
	return table;
}

static uint8_t cfa_at(const struct unwind_table *table, uint32_t offset)
{
	const struct gb_unwind_rule *rule = unwind_table_find(table, TEXT + offset);

	assert_non_null(rule);
	return rule->cfa;
}

static void test_within_limits(void **state)
{
	struct made made = begin(4096, 4096);
	struct unwind_table *table;

	begin_function(&made, 0, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_NONE);
	assert_int_equal(table->stats.skipped_bytes, 0);
	assert_int_equal(cfa_at(table, 0), GB_CFA_SP);
	unwind_table_close(table);
}

/* A gigabyte that is a hole: nothing of it is read. */
static void test_hole(void **state)
{
	struct made made = begin(4096, 4096);
	struct unwind_source source = {.fd = memfd_create("hole", MFD_CLOEXEC)};
	struct unwind_table *table = NULL;

	assert_true(source.fd >= 0);
	begin_function(&made, 0, 100, 0);
	make_headers(&made, 4096, 1u << 30);
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
	struct made made = begin(4096, UNWIND_EH_FRAME_MAX_BYTES + 64);
	struct unwind_table *table;

	begin_function(&made, 0, 100, 0);
	made.size = made.frames + UNWIND_EH_FRAME_MAX_BYTES;
	begin_function(&made, 200, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_EH_FRAME);
	assert_int_equal(cfa_at(table, 0), GB_CFA_SP);
	assert_int_equal(cfa_at(table, 200), GB_CFA_FRAME_POINTER);
	unwind_table_close(table);
}

static void test_too_many_functions(void **state)
{
	const uint32_t count = UNWIND_FUNCTIONS_MAX + 1000;
	struct made made = begin(count * 2, 64 + count * 17);
	struct unwind_table *table;
	uint32_t i;

	for (i = 0; i < count; i++)
		begin_function(&made, 2 * i, 2, 0);
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
	struct made made = begin(4096, 4096 + bytes);
	struct unwind_table *table;

	begin_function(&made, 0, 100, bytes);
	made.size += bytes; /* nops */
	begin_function(&made, 100, 100, 0);
	table = finish(&made);
	assert_int_equal(table->stats.limit, UNWIND_LIMIT_PROGRAM);
	assert_int_equal(cfa_at(table, 0), GB_CFA_FRAME_POINTER);
	assert_int_equal(cfa_at(table, 100), GB_CFA_SP);
	unwind_table_close(table);
}

/* A function whose rule none other has. */
static void put_distinct(struct made *made, uint32_t i, uint32_t bytes)
{
	size_t before;

	begin_function(made, i * bytes, bytes, 1 + 3);
	before = made->size;
	put(made, "\x0e", 1);
	put_uleb(made, 0x10000 + 8 * i);
	assert_int_equal(made->size - before, 4);
}

static void test_too_many_rules(void **state)
{
	const uint32_t count = UNWIND_RULES_MAX + 1000;
	struct made made = begin(count * 16, 4096 + count * 32);
	struct unwind_table *table;
	uint32_t i;

	for (i = 0; i < count; i++)
		put_distinct(&made, i, 16);
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
	struct made made = begin(4096, 4096);
	struct unwind_table *table = NULL;

	assert_true(source.fd >= 0);
	make_headers(&made, 1u << 30, 0);
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
