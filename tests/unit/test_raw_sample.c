/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of rule, on stacks made by hand: which frames there are, and where each ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "raw_sample_fixture.h"

/* ---- RSP and RBP ---------------------------------------------------------------------------------------- */

static void from_rsp(void **state)
{
	leaf(FN(RSP8) + 3, 0);
	stack.words[0] = FN(RSP32) + 5;
	stack.words[4] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8) + 3, AT(1)}, {FN(RSP32) + 5, AT(5)}, {FN(END) + 1, AT(6)}));
}

/* The leaf is looked up where it is, its callers where they called. */
static void lookup_addresses(void **state)
{
	leaf(FN(RSP32), 0);
	stack.words[3] = FN(RSP8); /* the call was before all code... */
	unwind();
	assert_frames(GB_STACK_NO_MAPPING, FRAMES({FN(RSP32), AT(4)}, {FN(RSP8), AT(5)}));
	leaf(FN(RSP32) + 15, 0);
	stack.words[3] = FN(RSP32); /* ...here RSP8's */
	stack.words[4] = FN(SAVES_RBP); /* and RBP16's */
	stack.regs[GB_REG_RBP] = AT(6);
	stack.words[6] = 0x1234;
	stack.words[7] = FN(FRAME_POINTER); /* and END's */
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP32) + 15, AT(4)}, {FN(RSP32), AT(5)}, {FN(SAVES_RBP), AT(8)},
			     {FN(FRAME_POINTER), AT(9)}));
}

static void from_rbp(void **state)
{
	leaf(FN(RBP16), AT(3));
	stack.words[3] = AT(8);
	stack.words[4] = FN(RSP8) + 1; /* leaves RBP alone */
	stack.words[5] = FN(RBP16) + 1;
	stack.words[8] = AT(20);
	stack.words[9] = FN(REG_RBP) + 1; /* RBP + 8 */
	stack.words[20] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RBP16), AT(5)}, {FN(RSP8) + 1, AT(6)}, {FN(RBP16) + 1, AT(10)},
			     {FN(REG_RBP) + 1, AT(21)}, {FN(END) + 1, AT(22)}));
}

/* RBP is taken from where the rule says, and what it says it was is seen in the frame after. */
static void callers_rbp(void **state)
{
	leaf(FN(SAVES_RBP), 0x1111);
	stack.words[1] = AT(9); /* at CFA - 16 */
	stack.words[2] = FN(FP_IN_RBP) + 1;
	stack.words[3] = FN(RBP16) + 1;
	stack.words[8] = AT(12); /* at RBP - 8 */
	stack.words[12] = 0x2222;
	stack.words[13] = FN(LOSES_RBP) + 1;
	stack.words[14] = FN(FRAME_POINTER) + 1; /* needs RBP */
	unwind();
	assert_frames(GB_STACK_FP_FAILED,
		      FRAMES({FN(SAVES_RBP), AT(3)}, {FN(FP_IN_RBP) + 1, AT(4)},
			     {FN(RBP16) + 1, AT(14)}, {FN(LOSES_RBP) + 1, AT(15)},
			     {FN(FRAME_POINTER) + 1, AT(16)}));
}

static void callers_rbp_from_rsp(void **state)
{
	leaf(FN(FP_AT_SP), 0x1111);
	stack.words[1] = AT(9);
	stack.words[2] = FN(RBP16) + 1;
	stack.words[10] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({FN(FP_AT_SP), AT(3)}, {FN(RBP16) + 1, AT(11)},
						{FN(END) + 1, AT(12)}));
}

/* What a function that has nothing on the stack was called with in a register, it has not saved; no other is sure of it. */
static void from_callees_register(void **state)
{
	leaf(FN(RSP8), 0);
	stack.regs[GB_REG_R10] = AT(5);
	stack.words[0] = FN(REG_R10) + 1;
	stack.words[5] = FN(REG_R10) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(RSP8), AT(1)}, {FN(REG_R10) + 1, AT(6)},
					       {FN(REG_R10) + 1, AT(7)}));
	leaf(FN(RSP32), 0);
	stack.regs[GB_REG_R10] = AT(5);
	stack.words[3] = FN(REG_R10) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(RSP32), AT(4)}, {FN(REG_R10) + 1, AT(5)}));
}

/* Where the frame's end is kept behind an array whose length is in a register. */
static void behind_an_array(void **state)
{
	leaf(FN(SP_INDEXED), 0);
	stack.regs[GB_REG_R9] = 6;
	stack.words[7] = AT(10);
	stack.words[11] = FN(SP_INDEXED) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({FN(SP_INDEXED), AT(12)}, {FN(SP_INDEXED) + 1, AT(13)}));
	stack.regs[GB_REG_R9] = UINT64_MAX / 16;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(SP_INDEXED), AT(1)}));
}

/* RBX as an ordinary number: no file says where it is. */
static void from_register(void **state)
{
	leaf(FN(REG_R10), 0);
	stack.regs[GB_REG_R10] = AT(5);
	stack.words[5] = FN(REG_RSP) + 1; /* RSP is always known */
	stack.words[6] = FN(REG_R10) + 1; /* R10 is not any more */
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(REG_R10), AT(6)}, {FN(REG_RSP) + 1, AT(7)},
					       {FN(REG_R10) + 1, AT(8)}));
	leaf(FN(REG_RBX), 0);
	stack.regs[GB_REG_RBX] = AT(1);
	stack.words[2] = FN(REG_RBX) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(REG_RBX), AT(3)}, {FN(REG_RBX) + 1, AT(4)}));
}

/* ---- expressions ------------------------------------------------------------------------------------------ */

/* From byte 11 or 10 of a slot on, its push has been executed. */
static void plt(void **state)
{
	uint64_t byte;

	for (byte = 0; byte < 16; byte++) {
		uint64_t eleven = byte >= 11 ? 1 : 0, ten = byte >= 10 ? 1 : 0;

		leaf(FN(PLT11) + byte, 0);
		stack.words[eleven] = FN(END) + 1;
		unwind();
		assert_frames(GB_STACK_COMPLETE, FRAMES({FN(PLT11) + byte, AT(1 + eleven)},
							{FN(END) + 1, AT(2 + eleven)}));
		leaf(FN(PLT10) + byte, 0);
		stack.words[ten] = FN(END) + 1;
		unwind();
		assert_frames(GB_STACK_COMPLETE,
			      FRAMES({FN(PLT10) + byte, AT(1 + ten)}, {FN(END) + 1, AT(2 + ten)}));
	}
}

static void deref(void **state)
{
	leaf(FN(RBP_DEREF), AT(6));
	stack.words[5] = AT(12); /* the CFA is 16 bytes before */
	stack.words[6] = AT(30); /* RBP */
	stack.words[9] = FN(RSP_DEREF) + 1;
	stack.words[12] = AT(17); /* RSP is AT(10); the CFA is 24 bytes behind */
	stack.words[19] = FN(RBP16) + 1;
	stack.words[31] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RBP_DEREF), AT(10)}, {FN(RSP_DEREF) + 1, AT(20)},
			     {FN(RBP16) + 1, AT(32)}, {FN(END) + 1, AT(33)}));
}

static void deref_of_nothing(void **state)
{
	leaf(FN(RBP_DEREF), AT(0)); /* the word before the stack */
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RBP_DEREF), AT(1)}));
	leaf(FN(RSP_DEREF), 0);
	stack.count = 2;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RSP_DEREF), AT(1)}));
}

/* ---- vfork ------------------------------------------------------------------------------------------------ */

/* The frame is empty: its caller has the same RSP. */
static void vfork_rule(void **state)
{
	leaf(FN(VFORK), 0);
	stack.regs[GB_REG_RDI] = FN(RSP32) + 1;
	stack.words[3] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(VFORK), AT(0)}, {FN(RSP32) + 1, AT(4)}, {FN(END) + 1, AT(5)}));
	assert_int_equal(GB_FRAME_SIZE(walk.words[0]), 0);
	/* Only the leaf knows its registers. */
	leaf(FN(RSP32), 0);
	stack.regs[GB_REG_RDI] = FN(RSP32) + 1;
	stack.words[3] = FN(VFORK) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(RSP32), AT(4)}, {FN(VFORK) + 1, AT(4)}));
}

/* ---- signals ------------------------------------------------------------------------------------------------ */

/* Registers as the kernel leaves them on the stack, for a frame at word `at`. */
static void put_signal(size_t at, uint64_t pc, uint64_t sp, uint64_t bp)
{
	uint64_t *regs = &stack.words[at + 5];
	size_t i;

	for (i = 0; i < GB_REG_COUNT; i++)
		regs[i] = GARBAGE;
	regs[GB_REG_RIP] = pc;
	regs[GB_REG_RSP] = sp;
	regs[GB_REG_RBP] = bp;
}

/* On the same stack; the interrupted function was at its first instruction, and its registers are known. */
static void signal_frame(void **state)
{
	leaf(FN(RSP8), 0);
	stack.words[0] = FN(SIGNAL) + 1;
	put_signal(1, FN(REG_R10), AT(40), AT(60));
	stack.words[1 + 5 + GB_REG_R10] = AT(44);
	stack.words[44] = FN(RBP16) + 1;
	stack.words[60] = 0;
	stack.words[61] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8), AT(1)}, {FN(SIGNAL) + 1, AT(40), SIGNALLED},
			     {FN(REG_R10), AT(45), INTERRUPTED}, {FN(RBP16) + 1, AT(62)},
			     {FN(END) + 1, AT(63)}));
}

/* The registers that a signal frame has are those of the interrupted function, not of its callers. */
static void registers_after_signal(void **state)
{
	leaf(FN(SIGNAL), 0);
	put_signal(0, FN(RSP32), AT(40), 0);
	stack.words[5 + GB_REG_R10] = AT(44);
	stack.words[43] = FN(REG_R10) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({FN(SIGNAL), AT(40), SIGNALLED}, {FN(RSP32), AT(44), INTERRUPTED},
			     {FN(REG_R10) + 1, AT(45)}));
}

/* Code that looks as if it were called where it interrupted: where that goes on is looked up as it is. */
static void preempted(void **state)
{
	leaf(FN(RSP8), 0);
	stack.words[0] = FN(PREEMPTS) + 1;
	stack.words[1] = FN(RSP32); /* the byte before is another function's */
	stack.words[5] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8), AT(1)}, {FN(PREEMPTS) + 1, AT(2)},
			     {FN(RSP32), AT(6), INTERRUPTED}, {FN(END) + 1, AT(7)}));
}

/* The outermost frame, to which what it seems to have called returns at its first instruction. */
static void coroutine_start(void **state)
{
	leaf(FN(RSP8), 0);
	stack.words[0] = FN(START) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8), AT(1)}, {FN(START) + 1, AT(2), INTERRUPTED}));
}

/* From an alternate stack above down to the one that was interrupted: a far frame, though it is near. */
static void signal_stack_above(void **state)
{
	leaf(FN(RSP8), 0);
	stack.regs[GB_REG_RSP] = SP;
	stack.words[0] = FN(SIGNAL) + 1;
	put_signal(1, FN(RSP8) + 4, AT(0), 0); /* interrupted below */
	stack.words[0] = FN(SIGNAL) + 1;
	unwind();
	/* What is returned to is the signal frame again: the walk goes in circles until there is no room. */
	assert_int_equal(walk.end, GB_STACK_FULL);
	assert_int_equal(walk.words[0], FN(RSP8) | (1ULL | GB_FRAME_HOW_LEAF << GB_FRAME_SIZE_BITS)
							   << GB_FRAME_PC_BITS);
	assert_int_equal(walk.words[1],
			 (FN(SIGNAL) + 1) | (GB_FRAME_FAR | SIGNALLED << GB_FRAME_SIZE_BITS)
						    << GB_FRAME_PC_BITS);
	assert_int_equal(walk.words[2], AT(0));
	assert_int_equal(walk.words[3], (FN(RSP8) + 4) | (1ULL | INTERRUPTED << GB_FRAME_SIZE_BITS)
								 << GB_FRAME_PC_BITS);
	assert_int_equal(walk.words[4], walk.words[1]);
}

/* The other stack is not in the copy: what was interrupted is known, but not who called it. */
static void signal_stack_elsewhere(void **state)
{
	leaf(FN(RSP8), 0);
	stack.words[0] = FN(SIGNAL) + 1;
	put_signal(1, FN(RSP8) + 4, SP - 0x100000, 0);
	unwind();
	assert_frames(GB_STACK_READ_FAILED,
		      FRAMES({FN(RSP8), AT(1)}, {FN(SIGNAL) + 1, SP - 0x100000, SIGNALLED},
			     {FN(RSP8) + 4, SP - 0x100000 + 8, INTERRUPTED}));
	put_signal(1, FN(END), SP + (1ULL << 40), 0);
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8), AT(1)}, {FN(SIGNAL) + 1, SP + (1ULL << 40), SIGNALLED},
			     {FN(END), SP + (1ULL << 40) + 8, INTERRUPTED}));
	assert_int_equal(GB_FRAME_SIZE(walk.words[1]), GB_FRAME_FAR);
}

/* What a signal interrupted at an address that is none, or that has more bits than a frame has room for. */
static void signal_at_no_address(void **state)
{
	leaf(FN(SIGNAL), 0);
	put_signal(0, 5, AT(40), 0);
	unwind();
	assert_frames(GB_STACK_NO_MAPPING,
		      FRAMES({FN(SIGNAL), AT(40), SIGNALLED}, {5, AT(41), INTERRUPTED}));
	leaf(FN(SIGNAL), 0);
	put_signal(0, 0xffffffffff600007, AT(40), 0);
	unwind();
	assert_frames(GB_STACK_NO_MAPPING, FRAMES({FN(SIGNAL), AT(40), SIGNALLED},
						  {0xffffff600007, AT(41), INTERRUPTED}));
}

/* ---- other stacks ---------------------------------------------------------------------------------------------- */

/* The caller's frame may lie below, and from there on RSP is right again. */
static void other_stack(void **state)
{
	leaf(FN(RSP32), AT(0));
	stack.words[3] = FN(OTHER_STACK) + 1;
	stack.words[0] = AT(9); /* the caller's RBP */
	stack.words[1] = FN(RBP16) + 1;
	stack.words[10] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({FN(RSP32), AT(4)}, {FN(OTHER_STACK) + 1, AT(2)},
						{FN(RBP16) + 1, AT(11)}, {FN(END) + 1, AT(12)}));
	assert_int_equal(GB_FRAME_SIZE(walk.words[1]), GB_FRAME_FAR);
	/* Where RSP and the CFA are the same; and above. */
	leaf(FN(RSP8), AT(-1));
	stack.words[0] = FN(OTHER_STACK) + 1;
	unwind();
	assert_frames(GB_STACK_READ_FAILED,
		      FRAMES({FN(RSP8), AT(1)}, {FN(OTHER_STACK) + 1, AT(1)}));
	leaf(FN(OTHER_STACK), AT(20));
	stack.words[21] = FN(RSP8) + 1;
	stack.words[22] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({FN(OTHER_STACK), AT(22)}, {FN(RSP8) + 1, AT(23)},
						{FN(END) + 1, AT(24)}));
}

/* It is no more than a guess: where it leads to no code the stack is cut, and never complete. */
static void other_stack_of_garbage(void **state)
{
	static const uint64_t no_code[] = {0, 5, GARBAGE, JIT + PAGE + 1};
	size_t i;

	for (i = 0; i < sizeof(no_code) / sizeof(no_code[0]); i++) {
		leaf(FN(OTHER_STACK), AT(4));
		stack.words[4] = 0;
		stack.words[5] = no_code[i];
		unwind();
		assert_frames(GB_STACK_FP_FAILED, FRAMES({FN(OTHER_STACK), AT(6)}));
	}
	leaf(FN(OTHER_STACK), 0);
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(OTHER_STACK), 16}));
	/* What comes after it by rules is shown as it is. */
	leaf(FN(OTHER_STACK), AT(4));
	stack.words[5] = FN(RSP8) + 1;
	stack.words[6] = 5;
	unwind();
	assert_frames(GB_STACK_NO_MAPPING,
		      FRAMES({FN(OTHER_STACK), AT(6)}, {FN(RSP8) + 1, AT(7)}, {5, AT(8)}));
}

/* ---- RBX ------------------------------------------------------------------------------------------------------ */

static void tracked_rbx(void **state)
{
	leaf(TRACKED_FN(RSP8), 0); /* leaves it alone */
	stack.regs[GB_REG_RBX] = 0x3333;
	stack.words[0] = TRACKED_FN(PUSHES_RBX) + 1;
	stack.words[1] = AT(7); /* at CFA - 16 */
	stack.words[2] = TRACKED_FN(RSP8) + 1;
	stack.words[3] = TRACKED_FN(REG_RBX) + 1; /* RBX + 16 */
	stack.words[8] = TRACKED_FN(REG_RBX) + 1; /* the same RBX: no frame, so not monotonic */
	unwind();
	assert_frames(GB_STACK_NOT_MONOTONIC,
		      FRAMES({TRACKED_FN(RSP8), AT(1)}, {TRACKED_FN(PUSHES_RBX) + 1, AT(3)},
			     {TRACKED_FN(RSP8) + 1, AT(4)}, {TRACKED_FN(REG_RBX) + 1, AT(9)},
			     {TRACKED_FN(REG_RBX) + 1, AT(10)}));
}

static void lost_rbx(void **state)
{
	/* Where it was saved cannot be read. */
	leaf(TRACKED_FN(LOSES_RBX), 0);
	stack.regs[GB_REG_RBX] = AT(9);
	stack.words[0] = TRACKED_FN(REG_RBX) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({TRACKED_FN(LOSES_RBX), AT(1)}, {TRACKED_FN(REG_RBX) + 1, AT(2)}));
	/* It is where no rule can say; the frame itself is no less known for that. */
	leaf(TRACKED_FN(HIDES_RBX), 0);
	stack.regs[GB_REG_RBX] = AT(9);
	stack.words[0] = TRACKED_FN(REG_RBX) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({TRACKED_FN(HIDES_RBX), AT(1)}, {TRACKED_FN(REG_RBX) + 1, AT(2)}));
	/* A file that does not say, in between. */
	leaf(FN(RSP8), 0);
	stack.regs[GB_REG_RBX] = AT(9);
	stack.words[0] = TRACKED_FN(REG_RBX) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({FN(RSP8), AT(1)}, {TRACKED_FN(REG_RBX) + 1, AT(2)}));
	/* A guess in between. */
	leaf(TRACKED_FN(FRAME_POINTER), AT(2));
	stack.regs[GB_REG_RBX] = AT(9);
	stack.words[3] = TRACKED_FN(REG_RBX) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE,
		      FRAMES({TRACKED_FN(FRAME_POINTER), AT(4)}, {TRACKED_FN(REG_RBX) + 1, AT(5)}));
	/* Lost once, it comes back with who pushed it. */
	leaf(TRACKED_FN(LOSES_RBX), 0);
	stack.words[0] = TRACKED_FN(PUSHES_RBX) + 1;
	stack.words[1] = AT(9);
	stack.words[2] = TRACKED_FN(REG_RBX) + 1;
	stack.words[10] = TRACKED_FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({TRACKED_FN(LOSES_RBX), AT(1)}, {TRACKED_FN(PUSHES_RBX) + 1, AT(3)},
			     {TRACKED_FN(REG_RBX) + 1, AT(11)}, {TRACKED_FN(END) + 1, AT(12)}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_rsp),
		cmocka_unit_test(lookup_addresses),
		cmocka_unit_test(from_rbp),
		cmocka_unit_test(callers_rbp),
		cmocka_unit_test(callers_rbp_from_rsp),
		cmocka_unit_test(from_callees_register),
		cmocka_unit_test(behind_an_array),
		cmocka_unit_test(from_register),
		cmocka_unit_test(plt),
		cmocka_unit_test(deref),
		cmocka_unit_test(deref_of_nothing),
		cmocka_unit_test(vfork_rule),
		cmocka_unit_test(signal_frame),
		cmocka_unit_test(registers_after_signal),
		cmocka_unit_test(preempted),
		cmocka_unit_test(coroutine_start),
		cmocka_unit_test(signal_stack_above),
		cmocka_unit_test(signal_stack_elsewhere),
		cmocka_unit_test(signal_at_no_address),
		cmocka_unit_test(other_stack),
		cmocka_unit_test(other_stack_of_garbage),
		cmocka_unit_test(tracked_rbx),
		cmocka_unit_test(lost_rbx),
	};

	return cmocka_run_group_tests(tests, setup_code, teardown_code);
}
