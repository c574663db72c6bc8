/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows made of code without unwind information: what each way to use the stack gives, and what is not believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "unwind/table.h"

#include "../unwind_rule.h"
#include "alloc.h"
#include "elf_fixture.h"

static struct unwind_table *table;
static struct unwind_source source = {.fd = -1};

/* A library of this assembly, whose labels are found by address_of(). */
static void assemble(const char *assembly)
{
	fixture_write("asm.s", assembly, strlen(assembly));
	assert_true(fixture_run("cc -shared -nostdlib -o asm.so asm.s"));
	source.fd = open(fixture_path("asm.so"), O_RDONLY | O_CLOEXEC);
	assert_true(source.fd >= 0);
	assert_int_equal(unwind_table_compile(&table, &source), 0);
}

static int forget(void **state)
{
	unwind_table_close(table);
	if (source.fd >= 0)
		close(source.fd);
	table = NULL;
	source.fd = -1;
	return 0;
}

/* Of a label, also of a local one. */
static uint64_t address_of(const char *label)
{
	char line[64] = "";
	FILE *file;

	assert_true(fixture_run("nm asm.so | awk '$3 == \"%s\" {print $1}' >address", label));
	file = fopen(fixture_path("address"), "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	return strtoull(line, NULL, 16);
}

static const struct gb_unwind_rule *rule_at(const char *label)
{
	const struct gb_unwind_rule *rule = unwind_table_find(table, address_of(label));

	assert_non_null(rule);
	return rule;
}

static void assert_sp(const char *label, int32_t cfa_off, uint8_t fp, int32_t fp_off)
{
	const struct gb_unwind_rule *rule = rule_at(label);

	assert_int_equal(rule->cfa, GB_CFA_SP);
	assert_int_equal(rule->cfa_off, cfa_off);
	assert_int_equal(rule->fp, fp);
	assert_int_equal(rule->fp_off, fp_off);
	assert_int_equal(rule->ra, GB_RA_CFA);
}

#define FUNCTION(name) ".globl " name "\n.type " name ", @function\n" name ":\n"

static void test_stack_pointer(void **state)
{
	assemble(FUNCTION("f") "push %rbx\n"
			       "a: push %rbp\n"
			       "b: mov %rdi, %rbp\n"
			       "c: sub $0x88, %rsp\n"
			       "d: test %rdi, %rdi\n jz 1f\n"
			       "call outside@plt\n"
			       "e: lea 0x88(%rsp), %rsp\n"
			       "g: pop %rbp\n"
			       "h: pop %rbx\n"
			       "i: ret\n"
			       "1: add $-0x80, %rsp\n"
			       "j: sub $-0x80, %rsp\n jmp e\n");
	assert_sp("f", 8, GB_FP_SAME, 0);
	assert_sp("a", 16, GB_FP_SAME, 0);
	assert_sp("b", 24, GB_FP_SAME, 0);
	assert_sp("c", 24, GB_FP_CFA, -24);
	assert_sp("d", 160, GB_FP_CFA, -24);
	assert_sp("e", 160, GB_FP_CFA, -24);
	assert_sp("g", 24, GB_FP_CFA, -24);
	assert_sp("h", 16, GB_FP_SAME, 0);
	assert_sp("i", 8, GB_FP_SAME, 0);
	assert_sp("j", 288, GB_FP_CFA, -24);
}

/* mov %rsp, elsewhere; and $-32, %rsp: as hand-written vector code does. */
static void test_aligned_stack(void **state)
{
	assemble(FUNCTION("f") "push %rbx\n mov %rsp, %rax\n"
			       "a: and $-32, %rsp\n"
			       "b: sub $64, %rsp\n"
			       "c: mov %rax, 64(%rsp)\n xor %eax, %eax\n"
			       "d: nop\n mov 64(%rsp), %rsp\n"
			       "e: pop %rbx\n ret\n");
	assert_sp("a", 16, GB_FP_SAME, 0);
	assert_int_equal(rule_at("b")->cfa, GB_CFA_REG);
	assert_int_equal(rule_at("b")->reg & 15, GB_REG_RAX);
	assert_int_equal(rule_at("b")->cfa_off, 16);
	assert_int_equal(rule_at("c")->cfa, GB_CFA_REG);
	assert_int_equal(rule_at("d")->cfa, GB_CFA_SP_DEREF);
	assert_int_equal(rule_at("d")->cfa_off, 64);
	assert_int_equal(rule_at("d")->cfa_add, 16);
	assert_sp("e", 16, GB_FP_SAME, 0);
}

static void test_frame_pointer(void **state)
{
	assemble(FUNCTION("f") "push %rbp\n mov %rsp, %rbp\n"
			       "a: sub %rdi, %rsp\n"
			       "b: call outside@plt\n leave\n"
			       "c: ret\n");
	assert_int_equal(rule_at("a")->cfa, GB_CFA_FP);
	assert_int_equal(rule_at("b")->cfa, GB_CFA_FP);
	assert_int_equal(rule_at("b")->cfa_off, 16);
	assert_int_equal(rule_at("b")->fp_off, -16);
	assert_sp("c", 8, GB_FP_SAME, 0);
}

/* What a table jumps to has the state of the jump, if it returns with all as it was. */
static void test_jump_table(void **state)
{
	assemble(FUNCTION("f") "push %rbx\n push %rbp\n lea table(%rip), %rax\n"
			       "movslq (%rax,%rdi,4), %rdi\n add %rdi, %rax\n jmp *%rax\n"
			       "nopl 0(%rax)\n"
			       "a: mov %rdi, %rbp\n"
			       "b: pop %rbp\n pop %rbx\n ret\n"
			       "c: inc %rbx\n jmp b\n"
			       ".section .rodata\n table: .long a - table, c - table\n");
	assert_sp("a", 24, GB_FP_SAME, 0);
	assert_sp("b", 24, GB_FP_CFA, -24);
	assert_sp("c", 24, GB_FP_SAME, 0);
}

/* Without a symbol: what calls lead to, and what begins behind other code and returns. */
static void test_nameless(void **state)
{
	assemble(FUNCTION("f") "sub $24, %rsp\n call g\n"
			       "a: add $24, %rsp\n ret\n"
			       ".p2align 4\n"
			       "g: push %rbx\n"
			       "b: pop %rbx\n ret\n"
			       ".p2align 4\n"
			       "h: push %r12\n"
			       "c: pop %r12\n ret\n");
	assert_sp("a", 32, GB_FP_SAME, 0);
	assert_sp("g", 8, GB_FP_SAME, 0);
	assert_sp("b", 16, GB_FP_SAME, 0);
	assert_sp("h", 8, GB_FP_SAME, 0);
	assert_sp("c", 16, GB_FP_SAME, 0);
}

/* Behind the call of a function that does not return, another one begins. */
static void test_no_return(void **state)
{
	assemble(FUNCTION("f") "push %rbx\n push %rbp\n call die\n"
			       "g: push %r12\n"
			       "a: pop %r12\n ret\n"
			       "die: push %rax\n"
			       "b: mov $60, %eax\n syscall\n hlt\n");
	assert_sp("g", 8, GB_FP_SAME, 0);
	assert_sp("a", 16, GB_FP_SAME, 0);
	assert_sp("b", 16, GB_FP_SAME, 0);
}

/* Nothing called it; nor what a new thread begins with. */
static void test_outermost(void **state)
{
	assemble(FUNCTION(
		"_start") "xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n"
			  "a: call f\n hlt\n" FUNCTION("f") "push %rbx\n pop %rbx\n ret\n" FUNCTION(
				  "clone") "mov $56, %eax\n syscall\n"
					   "test %eax, %eax\n jnz 1f\n xor %ebp, %ebp\n pop %rdi\n"
					   "b: call *%r9\n mov $60, %eax\n syscall\n hlt\n"
					   "1: ret\n");
	assert_int_equal(rule_at("a")->cfa, GB_CFA_END);
	assert_int_equal(rule_at("b")->cfa, GB_CFA_END);
	assert_sp("clone", 8, GB_FP_SAME, 0);
}

/* As V8 does: the return address is taken off the stack, and put back below arguments; a function takes its own off. */
static void test_moved_return(void **state)
{
	assemble(FUNCTION("f") "pop %rax\n"
			       "a: push %rbx\n push %rax\n push %rbp\n mov %rsp, %rbp\n"
			       "b: nop\n leave\n ret $8\n" FUNCTION(
				       "g") "push %rbp\n mov %rsp, %rbp\n push %rax\n"
					    "call f\n"
					    "c: nop\n leave\n ret\n");
	assert_int_equal(rule_at("a")->cfa, GB_CFA_FRAME_POINTER);
	assert_int_equal(rule_at("b")->cfa, GB_CFA_FRAME_POINTER);
	assert_int_equal(rule_at("c")->cfa, GB_CFA_FP);
	assert_int_equal(rule_at("c")->cfa_off, 16);
}

/* Ways that do not agree, and code that nothing speaks for: as before, by frame pointers if at all. */
static void test_not_believed(void **state)
{
	assemble(FUNCTION("f") "test %rdi, %rdi\n jz 1f\n push %rbx\n"
			       "1: nop\n"
			       "a: ret\n" FUNCTION("g") "push %rbx\n"
							"b: nop\n ret\n"
							".p2align 4\n"
							"h: add $8, %rsp\n"
							"c: ret\n");
	assert_int_equal(rule_at("a")->cfa, GB_CFA_FRAME_POINTER);
	assert_int_equal(rule_at("b")->cfa, GB_CFA_FRAME_POINTER);
	assert_int_equal(rule_at("c")->cfa, GB_CFA_FRAME_POINTER);
}

/* In a file whose functions make frames without frame pointers, these are not followed. */
static void test_no_frame_pointers(void **state)
{
	assemble(".rept 8\n push %rbx\n pop %rbx\n ret\n .p2align 4\n .endr\n" FUNCTION(
		"g") "push %rbx\n"
		     "b: nop\n ret\n");
	assert_int_equal(rule_at("b")->cfa, GB_CFA_INVALID);
}

static int attempt(void *context)
{
	struct unwind_table *made;
	int err = unwind_table_compile(&made, &source);

	if (!err)
		unwind_table_close(made);
	return err;
}

static void test_no_memory(void **state)
{
	assemble(FUNCTION("f") "push %rbx\n push %rbp\n lea table(%rip), %rax\n jmp *%rax\n"
			       "a: call g\n pop %rbp\n pop %rbx\n ret\n"
			       "g: ret\n h: push %rax\n pop %rax\n ret\n"
			       ".section .rodata\n table: .long a - table\n");
	assert_true(alloc_fail_each(attempt, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_stack_pointer, forget),
		cmocka_unit_test_teardown(test_aligned_stack, forget),
		cmocka_unit_test_teardown(test_frame_pointer, forget),
		cmocka_unit_test_teardown(test_jump_table, forget),
		cmocka_unit_test_teardown(test_nameless, forget),
		cmocka_unit_test_teardown(test_no_return, forget),
		cmocka_unit_test_teardown(test_outermost, forget),
		cmocka_unit_test_teardown(test_moved_return, forget),
		cmocka_unit_test_teardown(test_not_believed, forget),
		cmocka_unit_test_teardown(test_no_frame_pointers, forget),
		cmocka_unit_test_teardown(test_no_memory, forget),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_remove);
}
