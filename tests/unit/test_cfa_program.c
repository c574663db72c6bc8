/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cfa_program.c - call frame programs -> rows of rules: every instruction, every special rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "frame_fixture.h"
#include "unwind/cfa_expression.h"
#include "unwind/cfa_program.h"

#define TEXT 0x400000ull
#define SIZE 0x1000

/* A function that was run. */
struct ran {
	struct frame_bytes bytes;
	struct eh_frame frame;
	struct rule_set rules;
	struct cfa_machine machine;
};

static int try_run(struct ran *ran, const char *cie, size_t cie_bytes, const char *program,
		   size_t bytes, bool tracks_reg)
{
	size_t at;
	int err;

	*ran = (struct ran){0};
	at = put_cie(&ran->bytes, "zR", PTR_PCREL | PTR_SDATA4, cie, cie_bytes);
	put_fde(&ran->bytes, at, TEXT, SIZE, program, bytes);
	ran->frame = (struct eh_frame){
		.bytes = ran->bytes.data,
		.size = ran->bytes.size,
		.text = TEXT,
		.text_bytes = 1 << 20,
	};
	err = eh_frame_scan(&ran->frame);
	if (!err)
		err = rule_set_open(&ran->rules);
	if (!err)
		err = cfa_machine_open(&ran->machine, &ran->frame, &ran->rules, tracks_reg);
	if (!err)
		err = cfa_machine_run(&ran->machine, &ran->frame.fdes[0]);
	return err;
}

static void run(struct ran *ran, const char *program, size_t bytes)
{
	assert_int_equal(try_run(ran, LITERAL(USUAL_PROGRAM), program, bytes, false), 0);
}

static void done(struct ran *ran)
{
	cfa_machine_close(&ran->machine);
	rule_set_close(&ran->rules);
	eh_frame_close(&ran->frame);
}

static void assert_rule(const struct gb_unwind_rule *rule, struct gb_unwind_rule expected)
{
	assert_int_equal(rule->cfa, expected.cfa);
	assert_int_equal(rule->reg, expected.reg);
	assert_int_equal(rule->cfa_off, expected.cfa_off);
	assert_int_equal(rule->cfa_add, expected.cfa_add);
	assert_int_equal(rule->fp, expected.fp);
	assert_int_equal(rule->fp_off, expected.fp_off);
	assert_int_equal(rule->ra, expected.ra);
	assert_int_equal(rule->tracked_off, expected.tracked_off);
}

static void assert_row(const struct ran *ran, size_t index, uint32_t offset,
		       struct gb_unwind_rule expected)
{
	assert_true(index < ran->machine.row_count);
	assert_int_equal(ran->machine.rows[index].offset, offset);
	assert_rule(&ran->rules.rules[ran->machine.rows[index].rule], expected);
}

/* The only rule of a program that never advances. */
static void assert_only_rule(const char *program, size_t bytes, struct gb_unwind_rule expected)
{
	struct ran ran;

	run(&ran, program, bytes);
	assert_int_equal(ran.machine.row_count, 1);
	assert_row(&ran, 0, 0, expected);
	assert_int_equal(ran.machine.unsupported, expected.cfa == GB_CFA_INVALID);
	assert_int_equal(ran.machine.bad, 0);
	done(&ran);
}

#define INVALID ((struct gb_unwind_rule){.cfa = GB_CFA_INVALID})
#define RSP(off) ((struct gb_unwind_rule){.cfa = GB_CFA_SP, .cfa_off = (off)})

static void test_prologue_and_epilogue(void **state)
{
	struct gb_unwind_rule framed = {GB_CFA_FP, GB_FP_CFA, 0, 0, 16, -16, 0, 0};
	struct gb_unwind_rule pushed = {GB_CFA_SP, GB_FP_CFA, 0, 0, 16, -16, 0, 0};
	struct gb_unwind_rule popped = {GB_CFA_SP, GB_FP_CFA, 0, 0, 8, -16, 0, 0};
	struct ran ran;

	/* push rbp at 1; mov rbp, rsp at 4; leave at 0x30. */
	run(&ran, LITERAL("\x41\x0e\x10\x86\x02\x43\x0d\x06\x6c\x0c\x07\x08\0\0"));
	assert_int_equal(ran.machine.row_count, 4);
	assert_row(&ran, 0, 0, RSP(8));
	assert_row(&ran, 1, 1, pushed);
	assert_row(&ran, 2, 4, framed);
	assert_row(&ran, 3, 0x30, popped);
	assert_int_equal(ran.machine.rows_in, 4);
	assert_int_equal(ran.machine.unsupported, 0);
	assert_false(rule_set_needs_tracked(&ran.rules));
	done(&ran);
}

static void test_all_advances(void **state)
{
	struct ran ran;

	run(&ran, LITERAL("\x02\x81\x0e\x10" /* advance_loc1 0x81 */
			  "\x03\x01\x02\x0e\x18" /* advance_loc2 0x201 */
			  "\x04\x01\0\0\0\x0e\x20" /* advance_loc4 1 */
			  "\x40\x0e\x28" /* advance_loc 0: the row before never was */
			  "\x7f\x0e\x30")); /* advance_loc 63 */
	assert_int_equal(ran.machine.row_count, 5);
	assert_row(&ran, 0, 0, RSP(8));
	assert_row(&ran, 1, 0x81, RSP(16));
	assert_row(&ran, 2, 0x282, RSP(24));
	assert_row(&ran, 3, 0x283, RSP(40));
	assert_row(&ran, 4, 0x2c2, RSP(48));
	done(&ran);
}

static void test_set_loc(void **state)
{
	struct frame_bytes bytes = {.address = 0};
	struct ran ran = {0};
	size_t cie = put_cie(&bytes, "zR", PTR_UDATA4, LITERAL(USUAL_PROGRAM));

	begin_fde(&bytes, cie);
	put_u32(&bytes, TEXT + 0x10);
	put_u32(&bytes, 0x100);
	put_raw(&bytes, LITERAL("\0\x01\x30\0\x40\0\x0e\x10")); /* set_loc 0x400030 */
	put_raw(&bytes, LITERAL("\x01\x2f\0\x40\0\x0e\x18")); /* back, which is not allowed */
	end_record(&bytes);
	ran.frame = (struct eh_frame){
		.bytes = bytes.data, .size = bytes.size, .text = TEXT, .text_bytes = 1 << 20};
	assert_int_equal(eh_frame_scan(&ran.frame), 0);
	assert_int_equal(rule_set_open(&ran.rules), 0);
	assert_int_equal(cfa_machine_open(&ran.machine, &ran.frame, &ran.rules, false), 0);
	assert_int_equal(cfa_machine_run(&ran.machine, &ran.frame.fdes[0]), 0);
	assert_int_equal(ran.machine.row_count, 2);
	assert_row(&ran, 0, 0, RSP(8));
	assert_row(&ran, 1, 0x20, INVALID);
	assert_int_equal(ran.machine.bad, 1);
	done(&ran);
}

/* What is beyond the end of the function never holds. */
static void test_advance_past_the_end(void **state)
{
	struct ran ran;

	run(&ran, LITERAL("\x41\x0e\x10\x03\xff\x0f\x0e\x18\x41\x0e\x20"));
	assert_int_equal(ran.machine.row_count, 2);
	assert_row(&ran, 1, 1, RSP(16));
	done(&ran);
	run(&ran, LITERAL("\x41\x0e\x10\x04\xff\xff\xff\xff\x0e\x18\x41\xff\xff"));
	assert_int_equal(ran.machine.row_count, 2);
	assert_int_equal(ran.machine.bad, 0);
	done(&ran);
}

static void test_equal_neighbours_are_one_row(void **state)
{
	struct ran ran;

	/* Pushes of registers that nobody follows, without a change of the CFA. */
	run(&ran, LITERAL("\x41\x8c\x03\x41\x83\x04\x41\x0e\x10\x41\x0e\x08"));
	assert_int_equal(ran.machine.row_count, 3);
	assert_row(&ran, 0, 0, RSP(8));
	assert_row(&ran, 1, 3, RSP(16));
	assert_row(&ran, 2, 4, RSP(8));
	assert_int_equal(ran.machine.rows_in, 5);
	done(&ran);
}

static void test_remember_and_restore(void **state)
{
	struct gb_unwind_rule deep = {GB_CFA_SP, GB_FP_CFA, 0, 0, 32, -24, 0, 0};
	struct gb_unwind_rule popped = {GB_CFA_SP, GB_FP_CFA, 0, 0, 8, -24, 0, 0};
	struct ran ran;

	run(&ran, LITERAL("\x41\x0e\x20\x86\x03\x41\x0a\x0e\x08\x41\x0a\xc6\x41\x0b\x41\x0b"));
	assert_int_equal(ran.machine.row_count, 6);
	assert_row(&ran, 1, 1, deep);
	assert_row(&ran, 2, 2, popped);
	assert_row(&ran, 3, 3, RSP(8));
	/* The inner one is back for a byte, then the outer. */
	assert_row(&ran, 4, 4, popped);
	assert_row(&ran, 5, 5, deep);
	done(&ran);
}

static void test_restore_without_remember(void **state)
{
	struct ran ran;

	run(&ran, LITERAL("\x41\x0e\x10\x41\x0b\x41\x0e\x18"));
	assert_int_equal(ran.machine.row_count, 3);
	assert_row(&ran, 1, 1, RSP(16));
	assert_row(&ran, 2, 2, INVALID);
	assert_int_equal(ran.machine.bad, 1);
	assert_int_equal(ran.machine.unsupported, 1);
	done(&ran);
}

static void test_remember_too_deep(void **state)
{
	char program[1000];
	struct ran ran;

	memset(program, CFA_REMEMBER_STATE, sizeof(program));
	run(&ran, program, sizeof(program));
	assert_int_equal(ran.machine.row_count, 1);
	assert_row(&ran, 0, 0, INVALID);
	assert_int_equal(ran.machine.bad, 1);
	done(&ran);
}

static void test_saved_rbp(void **state)
{
	struct gb_unwind_rule rule = {GB_CFA_SP, GB_FP_CFA, 0, 0, 8, -16, 0, 0};

	assert_only_rule(LITERAL("\x86\x02"), rule); /* offset */
	assert_only_rule(LITERAL("\x05\x06\x02"), rule); /* offset_extended */
	assert_only_rule(LITERAL("\x11\x06\x02"), rule); /* offset_extended_sf */
	assert_only_rule(LITERAL("\x86\x82\0"), rule); /* with a longer number */
	rule.fp_off = 16;
	assert_only_rule(LITERAL("\x11\x06\x7e"), rule);
	assert_only_rule(LITERAL("\x2f\x06\x02"), rule); /* GNU_negative_offset_extended */
	assert_only_rule(LITERAL("\x86\x02\xc6"), RSP(8)); /* restore */
	assert_only_rule(LITERAL("\x86\x02\x06\x06"), RSP(8)); /* restore_extended */
	assert_only_rule(LITERAL("\x86\x02\x08\x06"), RSP(8)); /* same_value */
	rule = (struct gb_unwind_rule){GB_CFA_SP, GB_FP_UNDEFINED, 0, 0, 8, 0, 0, 0};
	assert_only_rule(LITERAL("\x86\x02\x07\x06"), rule); /* undefined */
	rule = (struct gb_unwind_rule){GB_CFA_SP, GB_FP_FP, 0, 0, 8, -16, 0, 0};
	assert_only_rule(LITERAL("\x10\x06\x02\x76\x70"), rule); /* expression: breg6 -16 */
	rule = (struct gb_unwind_rule){GB_CFA_SP, GB_FP_SP, 0, 0, 8, 160, 0, 0};
	assert_only_rule(LITERAL("\x10\x06\x03\x77\xa0\x01"), rule); /* expression: breg7 160 */
}

static void test_saved_rbp_that_no_rule_has(void **state)
{
	assert_only_rule(LITERAL("\x14\x06\x02"), INVALID); /* val_offset */
	assert_only_rule(LITERAL("\x15\x06\x02"), INVALID); /* val_offset_sf */
	assert_only_rule(LITERAL("\x16\x06\x02\x76\x70"), INVALID); /* val_expression */
	assert_only_rule(LITERAL("\x10\x06\x02\x73\x70"), INVALID); /* expression: breg3 -16 */
	assert_only_rule(LITERAL("\x10\x06\x03\x76\x70\x06"), INVALID); /* ... and deref */
	assert_only_rule(LITERAL("\x10\x06\0"), INVALID); /* an empty one */
	assert_only_rule(LITERAL("\x09\x06\x03"), INVALID); /* in rbx */
	/* Too far away for 32 bits: 0x20000000 * -8 is -2^32. */
	assert_only_rule(LITERAL("\x05\x06\x80\x80\x80\x80\x02"), INVALID);
	assert_only_rule(LITERAL("\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), INVALID);
}

static void test_other_registers_do_not_matter(void **state)
{
	assert_only_rule(LITERAL("\x83\x02\x14\x0c\x02\x16\x0d\x02\x76\x70\x09\x0e\x03"), RSP(8));
	assert_only_rule(LITERAL("\x07\x0f\x08\x03\x2e\x10\x05\xff\x7f\x01"), RSP(8));
}

static void test_return_address(void **state)
{
	struct gb_unwind_rule vfork = {GB_CFA_SP, 0, GB_RA_REG, GB_REG_RDI << 4, 0, 0, 0, 0};
	struct gb_unwind_rule end = {.cfa = GB_CFA_END};

	/* vfork pops it into rdi: def_cfa_offset 0, register rip rdi. */
	assert_only_rule(LITERAL("\x0e\0\x09\x10\x05"), vfork);
	assert_only_rule(LITERAL("\x09\x10\x05\xd0"), RSP(8)); /* restore */
	assert_only_rule(LITERAL("\x07\x10"), end);
	/* The end is the end, whatever else is said. */
	assert_only_rule(LITERAL("\x07\x10\x14\x06\x02\x0f\0"), end);
	assert_only_rule(LITERAL("\x90\x02"), INVALID); /* elsewhere on the stack */
	assert_only_rule(LITERAL("\x08\x10"), INVALID);
	assert_only_rule(LITERAL("\x09\x10\x06"), INVALID); /* in rbp */
	assert_only_rule(LITERAL("\x09\x10\x40"), INVALID);
	assert_only_rule(LITERAL("\x10\x10\x02\x77\x08"), INVALID);
}

static void test_both_registers_of_a_rule(void **state)
{
	struct gb_unwind_rule rule = {GB_CFA_REG, 0, GB_RA_REG, GB_REG_RDX << 4 | GB_REG_R10,
				      24,         0, 0,         0};

	assert_only_rule(LITERAL("\x0c\x0a\x18\x09\x10\x01"), rule);
}

static void test_cfa_in_other_registers(void **state)
{
	static const uint8_t gb_regs[] = {GB_REG_RAX, GB_REG_RDX, GB_REG_RCX, GB_REG_RBX,
					  GB_REG_RSI, GB_REG_RDI, 0,          0,
					  GB_REG_R8,  GB_REG_R9,  GB_REG_R10, GB_REG_R11,
					  GB_REG_R12, GB_REG_R13, GB_REG_R14, GB_REG_R15};
	char program[] = "\x0d?";
	unsigned int reg;

	for (reg = 0; reg < sizeof(gb_regs); reg++) {
		struct gb_unwind_rule rule = {GB_CFA_REG, 0, 0, gb_regs[reg], 8, 0, 0, 0};

		program[1] = (char)reg;
		if (reg == 6)
			rule.cfa = GB_CFA_FP;
		if (reg == 7)
			rule.cfa = GB_CFA_SP;
		assert_only_rule(program, 2, rule);
	}
	assert_only_rule(LITERAL("\x0d\x10"), INVALID);
	assert_only_rule(LITERAL("\x0d\x11"), INVALID);
	assert_only_rule(LITERAL("\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08"), INVALID);
}

static void test_cfa_offsets(void **state)
{
	assert_only_rule(LITERAL("\x0e\xff\xff\xff\xff\x07"), RSP(INT32_MAX));
	assert_only_rule(LITERAL("\x0e\x80\x80\x80\x80\x08"), INVALID);
	assert_only_rule(LITERAL("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), INVALID);
	assert_only_rule(LITERAL("\x13\x7e"), RSP(16)); /* def_cfa_offset_sf -2 */
	assert_only_rule(LITERAL("\x13\x02"), RSP(-16));
	assert_only_rule(LITERAL("\x12\x07\x7d"), RSP(24)); /* def_cfa_sf */
	/* -2^63 * -8 does not fit. */
	assert_only_rule(LITERAL("\x12\x07\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f"), INVALID);
	/* Where the offset was too large only for a while, the register is still known. */
	assert_only_rule(LITERAL("\x0e\x80\x80\x80\x80\x08\x0e\x10"), RSP(16));
	assert_only_rule(LITERAL("\x0e\x80\x80\x80\x80\x08\x0d\x06"), INVALID);
}

static void test_plt(void **state)
{
	struct gb_unwind_rule plt = {.cfa = GB_CFA_PLT11};

	assert_only_rule(LITERAL("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22"), plt);
	plt.cfa = GB_CFA_PLT10;
	assert_only_rule(LITERAL("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x3a\x2a\x33\x24\x22"), plt);
	assert_only_rule(LITERAL("\x0f\x0b\x77\x08\x80\0\x3f\x1a\x39\x2a\x33\x24\x22"), INVALID);
	assert_only_rule(LITERAL("\x0f\x0c\x77\x08\x80\0\x3f\x1a\x3b\x2a\x33\x24\x22\x96"),
			 INVALID);
}

static void test_realigned_stacks(void **state)
{
	struct gb_unwind_rule rule = {.cfa = GB_CFA_FP_DEREF, .cfa_off = -8};

	assert_only_rule(LITERAL("\x0f\x03\x76\x78\x06"), rule); /* breg6 -8, deref */
	rule.cfa_add = 16;
	assert_only_rule(LITERAL("\x0f\x05\x76\x78\x06\x23\x10"), rule); /* plus_uconst 16 */
	assert_only_rule(LITERAL("\x0f\x05\x76\x78\x06\x40\x22"), rule); /* lit16, plus */
	assert_only_rule(LITERAL("\x0f\x06\x76\x78\x06\x08\x10\x22"), rule); /* const1u */
	assert_only_rule(LITERAL("\x0f\x07\x76\x78\x06\x0a\x10\0\x22"), rule); /* const2u */
	assert_only_rule(LITERAL("\x0f\x06\x76\x78\x06\x09\xf0\x1c"), rule); /* const1s, minus */
	assert_only_rule(LITERAL("\x0f\x06\x92\x06\x78\x06\x23\x10"), rule); /* bregx */
	rule = (struct gb_unwind_rule){.cfa = GB_CFA_SP_DEREF, .cfa_off = 48, .cfa_add = 8};
	assert_only_rule(LITERAL("\x0f\x05\x77\x30\x06\x23\x08"), rule);
	assert_only_rule(LITERAL("\x0f\x07\x77\x20\x40\x22\x06\x23\x08"), rule); /* sum before */
}

static void test_indexed_expressions(void **state)
{
	const struct gb_unwind_rule rule = {
		.cfa = GB_CFA_SP_INDEXED, .reg = GB_REG_R9, .cfa_off = 8, .cfa_add = 16};

	/* breg7 8; breg9 0; lit8; mul; plus; deref; plus_uconst 16 */
	assert_only_rule(LITERAL("\x0f\x0a\x77\x08\x79\0\x38\x1e\x22\x06\x23\x10"), rule);
	assert_only_rule(LITERAL("\x0f\x0a\x77\x08\x79\x01\x38\x1e\x22\x06\x23\x10"), INVALID);
	assert_only_rule(LITERAL("\x0f\x0a\x77\x08\x79\0\x34\x1e\x22\x06\x23\x10"), INVALID);
	assert_only_rule(LITERAL("\x0f\x0a\x76\x08\x79\0\x38\x1e\x22\x06\x23\x10"), INVALID);
	assert_only_rule(LITERAL("\x0f\x0a\x77\x08\x77\0\x38\x1e\x22\x06\x23\x10"), INVALID);
	assert_only_rule(LITERAL("\x0f\x07\x77\x08\x79\0\x38\x1e\x22"), INVALID); /* no deref */
	assert_only_rule(LITERAL("\x0f\x06\x77\x08\x79\0\x38\x1e"), INVALID); /* cut */
	assert_only_rule(LITERAL("\x0f\x05\x77\x08\x06\x79\0"), INVALID); /* after deref */
}

static void test_plain_expressions(void **state)
{
	struct gb_unwind_rule rule = {.cfa = GB_CFA_FP, .cfa_off = 16};

	assert_only_rule(LITERAL("\x0f\x02\x76\x10"), rule);
	rule = (struct gb_unwind_rule){.cfa = GB_CFA_REG, .reg = GB_REG_R10, .cfa_off = 0};
	assert_only_rule(LITERAL("\x0f\x02\x7a\0"), rule);
	/* And back: after an expression the CFA is a register again. */
	assert_only_rule(LITERAL("\x0f\x02\x9f\x9f\x0c\x07\x10"), RSP(16));
}

static void test_expressions_that_no_rule_has(void **state)
{
	assert_only_rule(LITERAL("\x0f\0"), INVALID);
	assert_only_rule(LITERAL("\x0f\x03\x7a\x08\x06"), INVALID); /* deref of r10 */
	assert_only_rule(LITERAL("\x0f\x04\x76\x08\x06\x06"), INVALID); /* twice */
	assert_only_rule(LITERAL("\x0f\x04\x76\x08\x70\0"), INVALID); /* two registers */
	assert_only_rule(LITERAL("\x0f\x03\x76\x08\x40"), INVALID); /* a number not added */
	assert_only_rule(LITERAL("\x0f\x07\x76\x78\x06\x23\x80\x80\x02"), INVALID); /* + 32768 */
	assert_only_rule(LITERAL("\x0f\x06\x76\x80\x80\x80\x80\x08"), INVALID); /* 2^31 */
	/* An offset alone does not make an expression known. */
	assert_only_rule(LITERAL("\x0f\x03\x76\x78\x06\x0e\x10"), INVALID);
	assert_only_rule(LITERAL("\x0f\x03\x76\x78\x06\x0d\x07"), INVALID);
}

static void test_expression_sums_do_not_overflow(void **state)
{
	static const uint8_t bytes[] = "\x76\x01\x0e\xff\xff\xff\xff\xff\xff\xff\x7f\x22";
	static const uint8_t negated[] = "\x76\x01\x0e\0\0\0\0\0\0\0\x80\x1c";
	struct cfa_expression parsed;

	assert_false(cfa_expression_parse(&parsed, cursor_over(bytes, sizeof(bytes) - 1)));
	assert_false(cfa_expression_parse(&parsed, cursor_over(negated, sizeof(negated) - 1)));
	assert_true(cfa_expression_parse(&parsed, cursor_over(bytes, 2)));
	assert_int_equal(parsed.reg, 6);
	assert_int_equal(parsed.offset, 1);
	assert_false(parsed.is_deref);
}

/* Rules for RBX only where they are asked for; where the CFA is found through it, that is said. */
static void test_rbx(void **state)
{
	static const char program[] = "\x41\x0e\x10\x83\x02\x43\x0d\x03";
	struct gb_unwind_rule pushed = RSP(16);
	struct gb_unwind_rule based = {GB_CFA_REG, 0, 0, GB_REG_RBX, 16, 0, 0, 0};
	struct ran ran;

	run(&ran, LITERAL(program));
	assert_true(rule_set_needs_tracked(&ran.rules));
	assert_row(&ran, 1, 1, pushed);
	assert_row(&ran, 2, 4, based);
	done(&ran);
	assert_int_equal(try_run(&ran, LITERAL(USUAL_PROGRAM), LITERAL(program), true), 0);
	pushed.tracked_off = based.tracked_off = -16;
	assert_row(&ran, 0, 0, RSP(8));
	assert_row(&ran, 1, 1, pushed);
	assert_row(&ran, 2, 4, based);
	done(&ran);
}

static void test_rbx_that_no_rule_has(void **state)
{
	struct gb_unwind_rule lost = RSP(8);
	struct ran ran;

	lost.tracked_off = GB_TRACKED_LOST;
	/* In rax; at -32768; back to what it was. */
	assert_int_equal(try_run(&ran, LITERAL(USUAL_PROGRAM),
				 LITERAL("\x09\x03\0\x41\x83\x80\x20\x41\xc3"), true),
			 0);
	assert_int_equal(ran.machine.row_count, 2);
	assert_row(&ran, 0, 0, lost);
	assert_row(&ran, 1, 2, RSP(8));
	assert_int_equal(ran.machine.unsupported, 0);
	done(&ran);
}

static void test_instructions_that_make_no_sense(void **state)
{
	static const char *const programs[] = {
		"\x41\x1f", /* unknown */
		"\x41\x2d", /* of another machine */
		"\x41\x02", /* advance_loc1 without its operand */
		"\x41\x03\x01",
		"\x41\x04\x01\x01\x01",
		"\x41\x01\x01",
		"\x41\x0e",
		"\x41\x0e\x80",
		"\x41\x86",
		"\x41\x86\x80",
		"\x41\x0c\x07",
		"\x41\x0f\x02\x77",
		"\x41\x10\x06\x03\x76",
		"\x41\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"\x41\x07",
	};
	struct ran ran;
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		run(&ran, programs[i], strlen(programs[i]));
		assert_int_equal(ran.machine.bad, 1);
		assert_int_equal(ran.machine.row_count, 2);
		assert_row(&ran, 0, 0, RSP(8));
		assert_row(&ran, 1, 1, INVALID);
		done(&ran);
	}
}

static void test_cie_that_makes_no_sense(void **state)
{
	struct ran ran;

	/* It advances; it ends early. */
	assert_int_equal(try_run(&ran, LITERAL("\x0c\x07\x08\x41"), LITERAL("\x41"), false), 0);
	assert_int_equal(ran.machine.row_count, 0);
	assert_int_equal(ran.machine.bad, 1);
	done(&ran);
	assert_int_equal(try_run(&ran, LITERAL("\x0c\x07"), LITERAL("\x41"), false), 0);
	assert_int_equal(ran.machine.row_count, 0);
	done(&ran);
	/* It says nothing about the return address, or about the CFA. */
	assert_int_equal(try_run(&ran, LITERAL("\x0c\x07\x08"), LITERAL(""), false), 0);
	assert_row(&ran, 0, 0, INVALID);
	done(&ran);
	assert_int_equal(try_run(&ran, LITERAL("\x90\x01"), LITERAL(""), false), 0);
	assert_row(&ran, 0, 0, INVALID);
	done(&ran);
}

/* A function without an end of its CIE's rules: what the CIE says comes back with restore. */
static void test_restore_goes_back_to_the_cie(void **state)
{
	struct gb_unwind_rule rule = {GB_CFA_SP, GB_FP_CFA, 0, 0, 8, -24, 0, 0};
	struct ran ran;

	assert_int_equal(try_run(&ran, LITERAL(USUAL_PROGRAM "\x86\x03"),
				 LITERAL("\x86\x02\x41\xc6\x41\x08\x06"), false),
			 0);
	assert_int_equal(ran.machine.row_count, 3);
	assert_row(&ran, 1, 1, rule);
	assert_row(&ran, 2, 2, RSP(8));
	done(&ran);
}

static int attempt(void *context)
{
	struct ran ran;
	int err = try_run(&ran, LITERAL(USUAL_PROGRAM), LITERAL("\x41\x0e\x10"), false);

	done(&ran);
	return err;
}

static void test_failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) >= 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prologue_and_epilogue),
		cmocka_unit_test(test_all_advances),
		cmocka_unit_test(test_set_loc),
		cmocka_unit_test(test_advance_past_the_end),
		cmocka_unit_test(test_equal_neighbours_are_one_row),
		cmocka_unit_test(test_remember_and_restore),
		cmocka_unit_test(test_restore_without_remember),
		cmocka_unit_test(test_remember_too_deep),
		cmocka_unit_test(test_saved_rbp),
		cmocka_unit_test(test_saved_rbp_that_no_rule_has),
		cmocka_unit_test(test_other_registers_do_not_matter),
		cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_both_registers_of_a_rule),
		cmocka_unit_test(test_cfa_in_other_registers),
		cmocka_unit_test(test_cfa_offsets),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_realigned_stacks),
		cmocka_unit_test(test_indexed_expressions),
		cmocka_unit_test(test_plain_expressions),
		cmocka_unit_test(test_expressions_that_no_rule_has),
		cmocka_unit_test(test_expression_sums_do_not_overflow),
		cmocka_unit_test(test_rbx),
		cmocka_unit_test(test_rbx_that_no_rule_has),
		cmocka_unit_test(test_instructions_that_make_no_sense),
		cmocka_unit_test(test_cie_that_makes_no_sense),
		cmocka_unit_test(test_restore_goes_back_to_the_cie),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
