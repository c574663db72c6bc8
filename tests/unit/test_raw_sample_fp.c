/* SPDX-License-Identifier: BSD-2-Clause */
/* Frame pointers, where nothing else is known: which frames there are, and where they end. */
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

/* ---- frame pointers ------------------------------------------------------------------------------------------ */

/* Where there is no table, no page of it, or no better rule; back to rules in the end. */
static void follow_rbp(void **state)
{
	leaf(JIT + 0x10, AT(2));
	stack.words[2] = AT(2 + 5);
	stack.words[3] = CODE + PAGE + 0x77; /* the page that the table does not have */
	stack.words[7] = AT(20);
	stack.words[8] = FN(FRAME_POINTER) + 1;
	stack.words[20] = AT(30);
	stack.words[21] = FN(RBP16) + 1;
	stack.words[31] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({JIT + 0x10, AT(4)}, {CODE + PAGE + 0x77, AT(9)},
						{FN(FRAME_POINTER) + 1, AT(22)},
						{FN(RBP16) + 1, AT(32)}, {FN(END) + 1, AT(33)}));
}

/* No frame pointer, or no return address, is an end only in code whose rule says so: elsewhere it is just a 0. */
static void rbp_is_zero(void **state)
{
	leaf(JIT, 0);
	unwind();
	assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(1)}));
	leaf(JIT, AT(2));
	stack.words[2] = 0;
	stack.words[3] = JIT + 1;
	unwind();
	assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(4)}, {JIT + 1, AT(5)}));
	leaf(JIT, AT(2));
	stack.words[2] = stack.words[3] = 0;
	unwind();
	assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(4)}));
	/* As _start calls main: RBP is 0, and pushed. */
	leaf(JIT, AT(2));
	stack.words[2] = 0;
	stack.words[3] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({JIT, AT(4)}, {FN(END) + 1, AT(5)}));
	/* A rule is no guess. */
	leaf(FN(RSP8), 0);
	stack.words[0] = 0;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({FN(RSP8), AT(1)}));
}

/* Makes a page of the stack copy, from word `at` on, the mapping without a table, so that there is code to be read. */
static void put_code(size_t at)
{
	struct gb_mapping *jit = &mappings[MAPPING_COUNT - 1];

	memset(&stack.words[at], 0xcc, 4096);
	stack.count = at + 512;
	jit->begin = AT(at);
	jit->end = AT(at) + 4096;
}

static void put_jit_back(void)
{
	mappings[MAPPING_COUNT - 1].begin = JIT;
	mappings[MAPPING_COUNT - 1].end = JIT + PAGE;
}

/* The code of a leaf says that its frame is not there: RBP is its caller's. */
static void leaf_without_frame(void **state)
{
	static const struct {
		uint8_t code[8]; /* the address is of the last but four */
		size_t words;
	} cases[] = {
		{{0xcc, 0xcc, 0xcc, 0x90, 0xc3}, 1},
		{{0xcc, 0xcc, 0xcc, 0x90, 0xc2, 8, 0}, 1},
		{{0xcc, 0xcc, 0xcc, 0x90, 0xf3, 0xc3}, 1},
		{{0xcc, 0xcc, 0xcc, 0x90, 0xff, 0x25}, 1},
		{{0xcc, 0xcc, 0xcc, 0x90, 0x55, 0x48, 0x89, 0xe5}, 1},
		{{0xcc, 0xcc, 0xcc, 0x90, 0x55, 0x48, 0x8b, 0xec}, 1},
		{{0xcc, 0xcc, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0x90}, 2},
		{{0xcc, 0xcc, 0xcc, 0x55, 0x48, 0x8b, 0xec, 0x90}, 2},
		{{0xcc, 0xcc, 0xcc, 0x90, 0x55, 0x90, 0x90, 0x90}, 0},
		{{0xcc, 0xcc, 0xcc, 0x90, 0x48, 0x89, 0xe5, 0x90}, 0},
	};
	const size_t at = 1000;
	size_t i, words;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		words = cases[i].words;
		leaf(AT(at + 20) + 4, AT(6));
		put_code(at);
		memcpy(&stack.words[at + 20], cases[i].code, 8);
		stack.words[0] = AT(4);
		stack.words[1] = FN(RBP16) + 1;
		if (words == 1)
			stack.words[0] = FN(RBP16) + 1;
		stack.words[words == 2 ? 5 : 7] = FN(END) + 1;
		stack.words[8] = FN(END) + 1;
		unwind();
		put_jit_back();
		if (words == 2)
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({AT(at + 20) + 4, AT(2)}, {FN(RBP16) + 1, AT(6)},
					     {FN(END) + 1, AT(7)}));
		else if (words)
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({AT(at + 20) + 4, AT(1)}, {FN(RBP16) + 1, AT(8)},
					     {FN(END) + 1, AT(9)}));
		else
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({AT(at + 20) + 4, AT(8)}, {FN(END) + 1, AT(9)}));
	}
}

/* What is on top of the stack is behind a call of the leaf, which has set no frame pointer on its way. */
static void leaf_that_was_called(void **state)
{
	static const uint8_t call[] = {0xe8, 43, 0, 0, 0}; /* at 48, to 96 */
	static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};
	static const struct {
		uint32_t frame_at,
			address; /* of push %rbp; mov %rsp, %rbp, if not 0; where the leaf is */
		bool is_frameless;
	} cases[] = {
		{0, 96, true},    {0, 144, true},    {0, 145, false}, {0, 95, false},
		{96, 120, false}, {110, 120, false}, {80, 120, true},
	};
	const size_t at = 1000;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		leaf(AT(at) + cases[i].address, AT(6));
		put_code(at);
		memcpy((uint8_t *)&stack.words[at] + 48, call, sizeof(call));
		if (cases[i].frame_at)
			memcpy((uint8_t *)&stack.words[at] + cases[i].frame_at, frame,
			       sizeof(frame));
		stack.words[0] = AT(at) + 53;
		stack.words[7] = FN(END) + 1;
		unwind();
		put_jit_back();
		if (cases[i].is_frameless)
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({AT(at) + cases[i].address, AT(1)},
					     {AT(at) + 53, AT(8)}, {FN(END) + 1, AT(9)}));
		else
			assert_frames(GB_STACK_COMPLETE, FRAMES({AT(at) + cases[i].address, AT(8)},
								{FN(END) + 1, AT(9)}));
	}
}

/* Where a caller goes on it may be at its end already; otherwise it is followed by frame pointers. */
static void caller_at_its_end(void **state)
{
	static const struct {
		uint8_t code[8];
		size_t words;
	} cases[] = {
		{{0x48, 0x83, 0xc4, 0x08, 0xc3}, 2},       {{0x48, 0x83, 0xc4, 0x28, 0xc3}, 6},
		{{0x48, 0x83, 0xc4, 0x09, 0xc3}, 0},       {{0x48, 0x83, 0xc4, 0xf8, 0xc3}, 0},
		{{0x48, 0x83, 0xc4, 0x08, 0x5d, 0xc3}, 0}, {{0x48, 0x83, 0xec, 0x08, 0xc3}, 0},
	};
	const size_t at = 1000;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		leaf(FN(RSP8), AT(12));
		put_code(at);
		memcpy(&stack.words[at + 20], cases[i].code, sizeof(cases[i].code));
		stack.words[0] = AT(at + 20);
		stack.words[2] = stack.words[6] = FN(RBP16) + 1;
		stack.words[13] = FN(END) + 1;
		unwind();
		put_jit_back();
		if (cases[i].words)
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({FN(RSP8), AT(1)},
					     {AT(at + 20), AT(1 + cases[i].words)},
					     {FN(RBP16) + 1, AT(14)}, {FN(END) + 1, AT(15)}));
		else
			assert_frames(GB_STACK_COMPLETE,
				      FRAMES({FN(RSP8), AT(1)}, {AT(at + 20), AT(14)},
					     {FN(END) + 1, AT(15)}));
	}
}

static void rbp_is_garbage(void **state)
{
	static const uint64_t values[] = {
		AT(-1), /* below the stack */
		1,
		AT(2) + 4, /* not aligned */
		AT(2) + 1,
		AT(127), /* the return address is behind the copy */
		AT(128), /* all of it is */
		SP + (1 << 20) + 8, /* too far */
		UINT64_MAX - 7,
		1ULL << 63,
	};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		leaf(JIT, values[i]);
		unwind();
		assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(1)}));
	}
}

/* A megabyte is a frame, 8 bytes more are not, whatever is there. */
static void longest_guess(void **state)
{
	const size_t words = (1 << 20) / 8;

	leaf(JIT, AT(words));
	stack.count = words + 4;
	stack.words[words] = stack.words[words + 1] = 0;
	stack.words[words + 1] = FN(END) + 1;
	stack.words[words + 2] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({JIT, AT(words + 2)}, {FN(END) + 1, AT(words + 3)}));
	stack.regs[GB_REG_RBP] += 8;
	unwind();
	assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(1)}));
	stack.regs[GB_REG_RBP] = SP; /* the shortest one: just pushed */
	stack.words[0] = 0;
	stack.words[1] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({JIT, AT(2)}, {FN(END) + 1, AT(3)}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follow_rbp),         cmocka_unit_test(rbp_is_zero),
		cmocka_unit_test(leaf_without_frame), cmocka_unit_test(leaf_that_was_called),
		cmocka_unit_test(caller_at_its_end),  cmocka_unit_test(rbp_is_garbage),
		cmocka_unit_test(longest_guess),
	};

	return cmocka_run_group_tests(tests, setup_code, teardown_code);
}
