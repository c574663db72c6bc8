/* SPDX-License-Identifier: BSD-2-Clause */
/* Stretches of code that .eh_frame does not describe: which come first, and what a file's table makes of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "unwind/other_code.h"
#include "unwind/table.h"

#include "../unwind_rule.h"
#include "alloc.h"
#include "elf_fixture.h"

static void assert_next(const struct other_code *other, uint32_t start, uint32_t end,
			struct code_range expected)
{
	struct code_range range;

	assert_true(other_code_next(other, start, end, &range));
	assert_int_equal(range.start, expected.start);
	assert_int_equal(range.end, expected.end);
	assert_ptr_equal(range.init, expected.init);
}

static void test_order(void **state)
{
	const struct other_code other = {
		.go = {.start = 100, .end = 200},
		.init = {{.start = 300, .end = 320}, {.start = 10, .end = 30}}};
	struct code_range range;

	assert_next(&other, 0, 1000, (struct code_range){10, 30, &other.init[1]});
	assert_next(&other, 10, 30, (struct code_range){10, 30, &other.init[1]});
	assert_next(&other, 11, 1000,
		    (struct code_range){100, 200, NULL}); /* that one is described in part */
	assert_next(&other, 120, 150, (struct code_range){120, 150, NULL});
	assert_next(&other, 200, 320, (struct code_range){300, 320, &other.init[0]});
	assert_false(other_code_next(&other, 0, 29, &range));
	assert_false(other_code_next(&other, 30, 100, &range));
	assert_false(other_code_next(&other, 200, 319, &range));
	assert_false(other_code_next(&other, 301, 1000, &range));
}

static void test_nothing(void **state)
{
	const struct other_code other = {.go = {.start = 0}};
	struct code_range range;

	assert_false(other_code_next(&other, 0, UINT32_MAX, &range));
}

static void assert_rule(const struct unwind_table *table, uint64_t address, uint8_t cfa,
			int cfa_off)
{
	const struct gb_unwind_rule *rule = unwind_table_find(table, address);

	assert_non_null(rule);
	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->cfa_off, cfa_off);
	assert_int_equal(rule->fp, GB_FP_SAME);
	assert_int_equal(rule->ra, GB_RA_CFA);
}

/* .init and .fini of a file as linkers make them; one is not as it should be. */
static void test_file(void **state)
{
	static const char assembly[] = ".section .init, \"ax\", @progbits\n"
				       "sub $8, %rsp\n nop\n add $8, %rsp\n ret\n"
				       ".section .fini, \"ax\", @progbits\n"
				       "sub $8, %rsp\n add $16, %rsp\n ret\n"
				       ".text\n .skip 64, 0x90\n ret\n";
	struct unwind_source source;
	struct unwind_table *table;
	struct elf_code code;
	uint64_t init, fini;

	fixture_write("init.s", assembly, sizeof(assembly) - 1);
	assert_true(fixture_run("cc -shared -nostdlib -o init.so init.s"));
	source = (struct unwind_source){.fd = open(fixture_path("init.so"), O_RDONLY | O_CLOEXEC)};
	assert_true(source.fd >= 0);
	assert_int_equal(elf_code_open(&code, &source), 0);
	assert_int_equal(code.init.bytes, 10);
	assert_int_equal(code.fini.bytes, 9);
	init = code.init.address;
	fini = code.fini.address;
	elf_code_close(&code);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
	assert_rule(table, init, GB_CFA_SP, 8);
	assert_rule(table, init + 3, GB_CFA_SP, 8);
	assert_rule(table, init + 4, GB_CFA_SP, 16);
	assert_rule(table, init + 8, GB_CFA_SP, 16);
	assert_rule(table, init + 9, GB_CFA_SP, 8);
	assert_rule(table, fini, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
	close(source.fd);
}

/* Compiles what `cc OPTIONS` makes of a file of assembler; returns where it begins to run, which is at the label `entry`. */
static uint64_t compile_entry(struct unwind_table **table, const char *assembly)
{
	struct unwind_source source;
	struct elf_code code;
	uint64_t entry;

	fixture_write("entry.s", assembly, strlen(assembly));
	assert_true(fixture_run("cc -static -nostdlib -Wl,-e,entry -o entry entry.s"));
	source = (struct unwind_source){.fd = open(fixture_path("entry"), O_RDONLY | O_CLOEXEC)};
	assert_true(source.fd >= 0);
	assert_int_equal(elf_code_open(&code, &source), 0);
	entry = code.file->entry;
	elf_code_close(&code);
	assert_int_equal(unwind_table_compile(table, &source), 0);
	close(source.fd);
	return entry;
}

/* What `instructions` are at the start of a file are the end of stacks, and what is around them is not. */
static void assert_entry(const char *instructions, size_t length)
{
	struct unwind_table *table;
	char assembly[512];
	uint64_t entry;

	snprintf(assembly, sizeof(assembly),
		 ".globl entry\n.text\n.skip 64, 0x90\nout: ret\nentry: %s\n.skip 64, 0x90\nret\n",
		 instructions);
	entry = compile_entry(&table, assembly);
	assert_rule(table, entry - 1, GB_CFA_SP, 8);
	assert_rule(table, entry, GB_CFA_END, 0);
	if (length) {
		assert_rule(table, entry + length - 1, GB_CFA_END, 0);
		assert_rule(table, entry + length, GB_CFA_FRAME_POINTER, 0);
	}
	unwind_table_close(table);
}

static void test_entry(void **state)
{
	/* glibc: a program, the same with -z now, the dynamic linker; musl */
	assert_entry("xor %ebp, %ebp; and $-16, %rsp; push %rax; call out; hlt", 13);
	assert_entry("xor %ebp, %ebp; and $-16, %rsp; push %rax; call *out(%rip); hlt", 14);
	assert_entry("mov %rsp, %rdi; call out; mov %rax, %r12; call out; jmp *%r12", 19);
	assert_entry("xor %rbp, %rbp; mov %rsp, %rdi; and $-16, %rsp; call out", 15);
	/* nothing that we know by sight, but that it is where the file begins to run */
	assert_entry("xor %ebp, %ebp; call out; nop; call out", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_entry),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
