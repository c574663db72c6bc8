/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of Go code, from tables made by hand: which rule holds where, and what is done with tables that make no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "go_fixture.h"

static struct row_builder builder;
static struct rule_set rules;

/* ---- reading what came of them ------------------------------------------------------------- */

static int open_all(bool tracks_reg)
{
	int err = go_code_open(&go, &code, TEXT, TEXT_BYTES);

	if (!err)
		err = rule_set_open(&rules);
	if (!err)
		err = row_builder_open(&builder, TEXT_BYTES >> UNWIND_PAGE_BITS, 0, RULE_INVALID);
	if (!err)
		go_code_rewind(&go, tracks_reg);
	return err;
}

static void close_all(void)
{
	row_builder_close(&builder);
	rule_set_close(&rules);
	go_code_close(&go);
}

/* All of it, with rows; close_all() is to follow. */
static void make(bool tracks_reg)
{
	assert_int_equal(open_all(tracks_reg), 0);
	assert_int_equal(go.start, BASE);
	assert_int_equal(go.end, BASE + file.end);
	assert_int_equal(go_code_add(&go, go.start, go.end, &builder, &rules), 0);
	assert_int_equal(row_builder_finish(&builder), 0);
}

static struct gb_unwind_rule rule_at(uint32_t offset)
{
	const struct unwind_page *page = &builder.pages[offset >> UNWIND_PAGE_BITS];
	uint32_t i = page->first;

	while (i + 1 < page->first + page->count &&
	       ROW_OFFSET(builder.rows[i + 1]) <= ROW_OFFSET(offset))
		i++;
	assert_true(ROW_RULE(builder.rows[i]) < rules.count);
	return rules.rules[ROW_RULE(builder.rows[i])];
}

static void assert_depth(uint32_t offset, int32_t depth)
{
	struct gb_unwind_rule rule = rule_at(offset);

	assert_int_equal(rule.cfa, GB_CFA_SP);
	assert_int_equal(rule.cfa_off, depth + 8);
	assert_int_equal(rule.ra, GB_RA_CFA);
	assert_int_equal(rule.fp, depth ? GB_FP_CFA : GB_FP_SAME);
	assert_int_equal(rule.fp_off, depth ? -16 : 0);
}

static void assert_cfa(uint32_t offset, uint8_t cfa)
{
	assert_int_equal(rule_at(offset).cfa, cfa);
}

static void assert_other_stack(uint32_t offset)
{
	struct gb_unwind_rule rule = rule_at(offset);

	assert_int_equal(rule.cfa, GB_CFA_FP);
	assert_int_equal(rule.cfa_off, 16);
	assert_int_equal(rule.fp, GB_FP_CFA);
	assert_int_equal(rule.fp_off, -16);
	assert_int_equal(rule.ra, GB_RA_OTHER_STACK);
}

/* ---- functions ----------------------------------------------------------------------------- */

static void check_depths(bool has_lines)
{
	uint32_t first, second;

	begin(has_lines);
	first = ADD("main.first", 0, 64, FRAME_OF_24);
	second = ADD("main.second", ASM, 64, NO_FRAME);
	make(false);
	assert_cfa(first - 1, GB_CFA_INVALID);
	assert_depth(first, 0);
	assert_depth(first + 3, 0);
	assert_depth(first + 4, 24);
	assert_depth(first + 23, 24);
	assert_depth(first + 24, 0);
	assert_depth(first + 31, 0);
	assert_cfa(first + 32, GB_CFA_FRAME_POINTER); /* more than padding */
	assert_depth(second, 0);
	assert_depth(second + 63, 0);
	assert_int_equal(rule_at(second).tracked_off, 0);
	close_all();
	make(true);
	assert_int_equal(rule_at(second).tracked_off, GB_TRACKED_LOST);
	close_all();
}

static void test_depths(void **state)
{
	check_depths(false);
	check_depths(true);
}

/* Up to 31 bytes keep the rule before them. */
static void test_padding(void **state)
{
	uint32_t first, second;

	begin(false);
	first = ADD("main.first", 0, 63, FRAME_OF_24);
	second = ADD("main.second", 0, 64, FRAME_OF_24);
	make(false);
	assert_depth(first + 62, 0);
	assert_depth(second + 4, 24);
	assert_cfa(second + 32, GB_CFA_FRAME_POINTER);
	close_all();
}

static void test_outermost(void **state)
{
	uint32_t goexit, handler;

	begin(true);
	goexit = ADD("runtime.goexit", TOPFRAME | ASM, 64, NO_FRAME);
	handler = ADD("runtime.sigtramp", TOPFRAME | ASM, 64, NO_FRAME);
	make(false);
	assert_cfa(goexit, GB_CFA_END);
	assert_cfa(goexit + 63, GB_CFA_END);
	assert_depth(handler, 0);
	close_all();
}

/* Its byte before is a signal's, too, even where it is another function's. */
static void test_sigreturn(void **state)
{
	uint32_t first, second, large;

	begin(false);
	ADD("main.first", 0, 64, NO_FRAME);
	first = ADD("runtime.sigreturn", ASM, 32, NO_FRAME);
	second = ADD("runtime.sigreturn__sigaction", ASM, 32, NO_FRAME);
	large = ADD("runtime.sigreturned", 0, 65, NO_FRAME);
	make(false);
	assert_depth(first - 2, 0);
	assert_cfa(first - 1, GB_CFA_SIGNAL);
	assert_cfa(second + 31, GB_CFA_SIGNAL);
	assert_depth(large, 0);
	close_all();
}

/* A signal's handler made it look as if the function that was interrupted had called it. */
static void test_preempts(void **state)
{
	uint32_t preempt, other;

	begin(false);
	preempt = ADD("runtime.asyncPreempt", ASM, 64, FRAME_OF_24);
	other = ADD("runtime.asyncPreempt2", 0, 64, FRAME_OF_24);
	make(false);
	assert_cfa(preempt, GB_CFA_SP);
	assert_int_equal(rule_at(preempt).ra, GB_RA_INTERRUPTED);
	assert_int_equal(rule_at(preempt + 4).cfa_off, 24 + 8);
	assert_int_equal(rule_at(preempt + 4).ra, GB_RA_INTERRUPTED);
	assert_depth(other + 4, 24);
	close_all();
}

/* Exact up to behind the instruction that writes RSP, by RBP from there. */
static void test_other_stack(void **state)
{
	uint32_t system, all;

	begin(false);
	system = ADD("runtime.systemstack", SPWRITE, 64, NO_FRAME);
	all = ADD("runtime.strange", SPWRITE, 64, NO_FRAME);
	put(CODE_AT + system + 10, "\x48\x8b\x60\x38", 4);
	make(false);
	assert_depth(system + 13, 0);
	assert_other_stack(system + 14);
	assert_other_stack(system + 63);
	assert_depth(all, 0); /* nothing of the kind is in it */
	assert_depth(all + 63, 0);
	close_all();
}

/* Nobody returns to what these have called on the other stack, which begins there. */
static void test_stack_begins(void **state)
{
	static const char *const names[] = {"runtime.mcall", "runtime.morestack", "runtime.clone"};
	uint32_t starts[3], i;

	begin(true);
	for (i = 0; i < 3; i++) {
		starts[i] = ADD(names[i], SPWRITE | ASM, 64, NO_FRAME);
		put(CODE_AT + starts[i] + 20, "\x49\x8b\x66\x38", 4);
	}
	make(false);
	for (i = 0; i < 3; i++) {
		assert_depth(starts[i] + 23, 0);
		assert_cfa(starts[i] + 24, GB_CFA_END);
		assert_cfa(starts[i] + 63, GB_CFA_END);
	}
	close_all();
}

/* The middle of it alone. */
static void test_pieces(void **state)
{
	uint32_t first, second;

	begin(false);
	first = ADD("main.first", 0, 64, FRAME_OF_24);
	second = ADD("main.second", 0, 64, FRAME_OF_24);
	assert_int_equal(open_all(false), 0);
	assert_int_equal(go_code_add(&go, first + 10, first + 26, &builder, &rules), 0);
	row_builder_add(&builder, first + 26, RULE_END);
	assert_int_equal(go_code_add(&go, second + 30, second + 32, &builder, &rules), 0);
	row_builder_add(&builder, second + 32, RULE_SIGNAL);
	assert_int_equal(row_builder_finish(&builder), 0);
	assert_cfa(first + 9, GB_CFA_INVALID);
	assert_depth(first + 10, 24);
	assert_depth(first + 25, 0);
	assert_cfa(first + 26, GB_CFA_END);
	assert_cfa(second + 29, GB_CFA_END);
	assert_depth(second + 30, 0);
	assert_cfa(second + 32, GB_CFA_SIGNAL);
	close_all();
}

/* ---- tables that make no sense --------------------------------------------------------------- */

static void assert_refused(void)
{
	assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
	assert_int_equal(go.start, 0);
	assert_int_equal(go.end, 0);
	go_code_close(&go);
}

static void test_headers(void **state)
{
	/* clang-format off */
	static const struct {
		uint8_t at, size;
		uint64_t value;
	} bad[] = {
		{0, 4, 0xfffffffa}, {0, 4, 0xf1ffffff}, {4, 1, 1}, {5, 1, 1}, {6, 1, 4}, {7, 1, 4},
		{8, 8, 0}, {8, 8, (CODE_AT - FUNCTIONS) / 8}, {8, 8, UINT64_MAX},
		{24, 8, 0}, {24, 8, TEXT - 1}, {24, 8, TEXT + TEXT_BYTES},
		{24, 8, TEXT + TEXT_BYTES - 159},
		{32, 8, CODE_AT}, {56, 8, CODE_AT},
		{64, 8, CODE_AT}, {64, 8, CODE_AT - 3}, {64, 8, UINT64_MAX},
	};
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		usual();
		put(bad[i].at, &bad[i].value, bad[i].size);
		assert_refused();
	}
	usual();
	put_u64(24, TEXT + TEXT_BYTES - 160); /* just fits */
	assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
	assert_int_equal(go.end, TEXT_BYTES);
	go_code_close(&go);
	usual();
	put_u32(FUNCTIONS + 8, 129); /* behind the third */
	assert_refused();
}

static void test_no_table(void **state)
{
	uint64_t size = code.go_functions.bytes, offset = code.go_functions.offset;

	usual();
	for (code.go_functions.bytes = 0; code.go_functions.bytes <= 72; code.go_functions.bytes++)
		assert_refused();
	code.go_functions.bytes = size;
	code.go_functions.offset = sizeof(file.bytes) - size + 1; /* the file ends before */
	assert_refused();
	code.go_functions.offset = offset;
}

static int attempt(void *context)
{
	int err = open_all(false);

	if (!err)
		err = go_code_add(&go, go.start, go.end, &builder, &rules);
	close_all();
	return err;
}

/* As the system's linker leaves it: among other data, the start of the text to a relocation. */
static void relocated(uint64_t offset, uint64_t addend)
{
	const Elf64_Rela relocations[3] = {
		{8, 0, 0x1111}, {offset, 0, (int64_t)addend}, {16, 0, 0x2222}};

	usual();
	memmove(file.bytes + 0x10, file.bytes, CODE_AT - 0x10 - sizeof(relocations));
	memset(file.bytes, 0xff, 0x10);
	put_u64(0x10 + 24, 0);
	put(CODE_AT - sizeof(relocations), relocations, sizeof(relocations));
	code.go_functions = (struct elf_part){0};
	code.go_build.bytes = 1;
	code.relocated =
		(struct elf_part){.address = 0x700000, .bytes = CODE_AT - sizeof(relocations)};
	code.relocations = (struct elf_part){.offset = CODE_AT - sizeof(relocations),
					     .bytes = sizeof(relocations)};
}

static void test_relocated(void **state)
{
	const uint64_t word = 0x700000 + 0x10 + 24;

	relocated(word, TEXT + BASE);
	make(false);
	assert_int_equal(go.address, 0x700010);
	assert_depth(BASE + 4, 24);
	close_all();
	assert_true(alloc_fail_each(attempt, NULL) >= 8);
	code.go_build.bytes = 0; /* not a Go program */
	assert_refused();
	code.go_build.bytes = 1;
	code.relocations.bytes--; /* the relocation is not the last one */
	make(false);
	close_all();
	code.relocations.bytes = 0;
	assert_refused();
	relocated(word, 0);
	assert_refused();
	relocated(word - 8, TEXT + BASE);
	assert_refused();
	relocated(word, TEXT + BASE);
	file.bytes[0x10]++; /* nothing is found */
	assert_refused();
	relocated(word, TEXT + BASE);
	code.relocated.bytes = 0x10 + 71; /* nor here, where less than a header is left */
	assert_refused();
	code.go_build = code.relocated = code.relocations = (struct elf_part){0};
	code.go_functions.bytes = CODE_AT;
}

/* From Go 1.26 on the start of the text is in another section. */
static void test_module(void **state)
{
	const size_t at = CODE_AT + TEXT_BYTES - 0x200, word = at + 22 * 8;
	const Elf64_Rela relocation = {0x800000 + 22 * 8, 0, TEXT + BASE};

	usual();
	put_u64(24, 0);
	put_u64(word, TEXT + BASE);
	code.go_module = (struct elf_part){0x800000, at, 23 * 8};
	make(false);
	assert_depth(BASE + 4, 24);
	close_all();
	code.go_module.bytes--;
	assert_refused();
	code.go_module.bytes++;
	put_u64(word, 0);
	assert_refused();
	put(at - sizeof(relocation), &relocation, sizeof(relocation));
	code.relocations =
		(struct elf_part){.offset = at - sizeof(relocation), .bytes = sizeof(relocation)};
	make(false);
	assert_depth(BASE + 4, 24);
	close_all();
	code.go_module.offset = sizeof(file.bytes); /* the file ends before */
	assert_refused();
	code.go_module = code.relocations = (struct elf_part){0};
}

/* A description that is not there leaves its function, and no other, to frame pointers. */
static void test_descriptions(void **state)
{
	static const uint32_t bad[] = {CODE_AT - FUNCTIONS, CODE_AT - FUNCTIONS - 41, UINT32_MAX};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		usual();
		put_u32(FUNCTIONS + 4, bad[i]);
		make(false);
		assert_cfa(BASE, GB_CFA_FRAME_POINTER);
		assert_cfa(BASE + 63, GB_CFA_FRAME_POINTER);
		assert_depth(BASE + 64, 0);
		close_all();
	}
}

static void test_depths_without_sense(void **state)
{
	static const char bad[][12] = {
		"\x00", /* less than nothing, for no bytes */
		"\x00\x04", /* -1 */
		"\x03\x04", /* -3 */
		"\x04\x04", /* 1: no stack is like that */
		"\x02\x00", /* for no bytes */
		"\x92\x80\x80\x80\x10\x04", /* more than 32 bits */
		"\x82\x80\x80\x80\x08\x04", /* 1 GiB */
		"\x02\x80\x80\x80\x80\x10", /* for more than 32 bits of bytes */
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(false);
		add("main.first", 0, 16, bad[i], sizeof(bad[i]));
		ADD("main.second", 0, 64, "\x02\x04\x05\x04");
		ADD("main.third", 0, 64, FRAME_OF_24);
		make(false);
		assert_cfa(BASE, GB_CFA_FRAME_POINTER);
		assert_cfa(BASE + 15, GB_CFA_FRAME_POINTER);
		assert_depth(BASE + 16, 0); /* sense for 4 bytes */
		assert_cfa(BASE + 20, GB_CFA_FRAME_POINTER);
		assert_depth(BASE + 84, 24);
		close_all();
	}
	usual();
	put_u32(FUNCTIONS + (FUNCTIONS_MAX + 1) * 8 + 16,
		UINT32_MAX); /* depths that are not there */
	make(false);
	assert_cfa(BASE, GB_CFA_FRAME_POINTER);
	assert_depth(BASE + 64, 0);
	close_all();
}

/* There are never more rows than the table has bytes, however many functions share their depths. */
static void test_bound(void **state)
{
	usual();
	assert_int_equal(open_all(false), 0);
	assert_int_equal(go.rows_left, CODE_AT);
	go.rows_left = 2;
	assert_int_equal(go_code_add(&go, go.start, go.end, &builder, &rules), 0);
	assert_int_equal(go.rows_left, 0);
	assert_int_equal(row_builder_finish(&builder), 0);
	assert_depth(BASE, 0);
	assert_depth(BASE + 23, 24);
	assert_cfa(BASE + 24, GB_CFA_FRAME_POINTER);
	assert_cfa(BASE + file.end - 1, GB_CFA_FRAME_POINTER);
	close_all();
}

/* Every bit the other way round; under the sanitizers. */
static void test_flips(void **state)
{
	size_t used, i;

	usual();
	used = FUNCTIONS + file.described;
	for (i = 0; i < 8 * used; i++) {
		file.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_int_equal(open_all(false), 0);
		if (go.start < go.end)
			assert_int_equal(go_code_add(&go, go.start, go.end, &builder, &rules), 0);
		assert_int_equal(row_builder_finish(&builder), 0);
		close_all();
		file.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		if (i / 8 >= 72 && i / 8 < NAMES)
			i = 8 * NAMES;
	}
}

static void test_no_memory(void **state)
{
	usual();
	assert_true(alloc_fail_each(attempt, NULL) >= 5);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_depths), cmocka_unit_test(test_padding),
		cmocka_unit_test(test_outermost), cmocka_unit_test(test_sigreturn), cmocka_unit_test(test_preempts),
		cmocka_unit_test(test_other_stack), cmocka_unit_test(test_stack_begins),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_headers),
		cmocka_unit_test(test_no_table), cmocka_unit_test(test_relocated),
		cmocka_unit_test(test_module), cmocka_unit_test(test_descriptions),
		cmocka_unit_test(test_depths_without_sense), cmocka_unit_test(test_bound),
		cmocka_unit_test(test_flips), cmocka_unit_test(test_no_memory),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
