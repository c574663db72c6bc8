/* SPDX-License-Identifier: BSD-2-Clause */
/* Why walks end before the outermost frame, and what is shown then. */
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

/* ---- addresses without code ------------------------------------------------------------------------------- */

static void process_not_known(void **state)
{
	leaf(FN(RSP8), 0);
	stack.mapping_count = 0;
	unwind();
	assert_frames(GB_STACK_NO_PROCESS, FRAMES({FN(RSP8), AT(1)}));
}

/* What a rule led to is shown, whatever it is. */
static void no_mapping_from_a_rule(void **state)
{
	static const uint64_t addresses[] = {
		1, CODE - 1, CODE, TRACKED + PAGE + 1, JIT - 1, JIT + PAGE + 1, (1ULL << 48) - 1};
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		leaf(FN(RSP32), 0);
		stack.words[3] = addresses[i];
		unwind();
		assert_frames(GB_STACK_NO_MAPPING,
			      FRAMES({FN(RSP32), AT(4)}, {addresses[i], AT(5)}));
	}
	/* It is no address at all. */
	leaf(FN(RSP32), 0);
	stack.words[3] = 1ULL << 48;
	unwind();
	assert_frames(GB_STACK_NO_MAPPING, FRAMES({FN(RSP32), AT(4)}));
}

/* What a frame pointer led to was a guess: not shown. */
static void no_mapping_from_a_guess(void **state)
{
	static const uint64_t addresses[] = {
		1, CODE, JIT + PAGE + 1, (1ULL << 48) - 1, 1ULL << 48, UINT64_MAX};
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		leaf(JIT, AT(3));
		stack.words[4] = addresses[i];
		unwind();
		assert_frames(GB_STACK_FP_FAILED, FRAMES({JIT, AT(5)}));
	}
}

/* The guess led to code with a rule: from then on it is no guess. */
static void no_mapping_after_a_guess(void **state)
{
	leaf(JIT, AT(3));
	stack.words[4] = FN(RSP8) + 1;
	stack.words[5] = 0x5555;
	unwind();
	assert_frames(GB_STACK_NO_MAPPING,
		      FRAMES({JIT, AT(5)}, {FN(RSP8) + 1, AT(6)}, {0x5555, AT(7)}));
}

static void unmapped_leaf(void **state)
{
	static const uint64_t addresses[] = {0, CODE - 1, CODE + 2 * PAGE, JIT + PAGE};
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		leaf(addresses[i], AT(3));
		unwind();
		assert_frames(GB_STACK_NO_MAPPING, FRAMES({addresses[i], AT(1)}));
	}
	leaf(0xffffffffff600000, 0); /* the vsyscall page */
	unwind();
	assert_frames(GB_STACK_NO_MAPPING, FRAMES({0xffffff600000, AT(1)}));
}

/* A leaf is in its mapping at the first byte and the last; a caller a byte further. */
static void edges_of_mappings(void **state)
{
	leaf(JIT, AT(1));
	stack.words[2] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({JIT, AT(3)}, {FN(END) + 1, AT(4)}));
	leaf(JIT + PAGE - 1, AT(3));
	stack.words[3] = AT(5);
	stack.words[4] = JIT + PAGE;
	stack.words[6] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({JIT + PAGE - 1, AT(5)}, {JIT + PAGE, AT(7)}, {FN(END) + 1, AT(8)}));
}

/* From one mapping to the next and back: what is remembered of the one is not taken for the other. */
static void many_mappings(void **state)
{
	leaf(FN(RSP8), 0);
	stack.words[0] = TRACKED_FN(RSP8) + 1;
	stack.words[1] = FN(RSP8) + 1;
	stack.words[2] = TRACKED_FN(SAVES_RBP) + 1;
	stack.words[4] = AT(9);
	stack.words[5] = JIT + 1;
	stack.words[9] = 0;
	stack.words[10] = TRACKED_FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(RSP8), AT(1)}, {TRACKED_FN(RSP8) + 1, AT(2)},
			     {FN(RSP8) + 1, AT(3)}, {TRACKED_FN(SAVES_RBP) + 1, AT(6)},
			     {JIT + 1, AT(11)}, {TRACKED_FN(END) + 1, AT(12)}));
}

/* ---- rules ------------------------------------------------------------------------------------------------ */

static void no_rule(void **state)
{
	leaf(FN(INVALID), AT(3));
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(INVALID), AT(1)}));
	leaf(FN(RSP8), AT(3));
	stack.words[0] = FN(UNKNOWN) + 1;
	unwind();
	assert_frames(GB_STACK_NO_RULE, FRAMES({FN(RSP8), AT(1)}, {FN(UNKNOWN) + 1, AT(2)}));
}

/* A caller's frame at or below its callee's. */
static void not_monotonic(void **state)
{
	leaf(FN(BELOW), 0);
	unwind();
	assert_frames(GB_STACK_NOT_MONOTONIC, FRAMES({FN(BELOW), AT(1)}));
	leaf(FN(RSP8), 0);
	stack.words[0] = FN(EMPTY) + 1;
	unwind();
	assert_frames(GB_STACK_NOT_MONOTONIC, FRAMES({FN(RSP8), AT(1)}, {FN(EMPTY) + 1, AT(2)}));
	leaf(FN(RBP16), AT(-2)); /* empty */
	unwind();
	assert_frames(GB_STACK_NOT_MONOTONIC, FRAMES({FN(RBP16), AT(1)}));
	leaf(FN(RBP16), 0);
	unwind();
	assert_frames(GB_STACK_NOT_MONOTONIC, FRAMES({FN(RBP16), AT(1)}));
	leaf(FN(RBP16), AT(-1)); /* a word, and it says where to go on */
	stack.words[0] = FN(END) + 1;
	stack.regs[GB_REG_RSP] = SP;
	unwind();
	/* RBP was saved below RSP */
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RBP16), AT(1)}));
}

/* ---- stacks that cannot be read -------------------------------------------------------------------------------- */

static void unreadable(void **state)
{
	/* The return address. */
	leaf(FN(RSP32), 0);
	stack.count = 3;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RSP32), AT(4)}));
	/* There is no stack. */
	leaf(FN(RSP8), 0);
	stack.count = 0;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RSP8), AT(1)}));
	/* RBP. */
	leaf(FN(FP_UNREADABLE), 0);
	stack.words[0] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(FP_UNREADABLE), AT(1)}));
	/* The CFA is nowhere near. */
	leaf(FN(RBP16), UINT64_MAX - 31);
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(RBP16), UINT64_MAX - 15}));
}

/* The registers of a signal frame, of which the last word counts too. */
static void unreadable_signal_frame(void **state)
{
	size_t i;

	leaf(FN(SIGNAL), 0);
	for (i = 0; i < GB_REG_COUNT; i++)
		stack.words[5 + i] = AT(40);
	stack.words[5 + GB_REG_RIP] = FN(END);
	stack.count = 5 + GB_REG_COUNT;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(SIGNAL), AT(40), SIGNALLED}, {FN(END), AT(41), INTERRUPTED}));
	stack.count--;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(SIGNAL), AT(40), SIGNALLED}));
	stack.count = 5 + GB_REG_RSP;
	unwind();
	assert_frames(GB_STACK_READ_FAILED, FRAMES({FN(SIGNAL), AT(1), SIGNALLED}));
}

/* RSP need not be aligned. */
static void odd_stack(void **state)
{
	leaf(FN(RSP32), 0);
	stack.regs[GB_REG_RSP] = SP + 4;
	stack.words[3] = FN(RSP8) + 1;
	stack.words[4] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE, FRAMES({FN(RSP32), AT(4) + 4}, {FN(RSP8) + 1, AT(5) + 4},
						{FN(END) + 1, AT(6) + 4}));
}

/* ---- far frames ---------------------------------------------------------------------------------------------- */

/* The longest frame that one word says, and the first that takes two. */
static void far_frames(void **state)
{
	const size_t less = GB_FRAME_FAR - 1, far = less + GB_FRAME_FAR;

	leaf(FN(FAR_LESS), 0);
	stack.count = far + 1;
	stack.words[less - 1] = FN(FAR_JUST) + 1;
	stack.words[far - 1] = FN(END) + 1;
	unwind();
	assert_frames(GB_STACK_COMPLETE,
		      FRAMES({FN(FAR_LESS), AT(less)}, {FN(FAR_JUST) + 1, AT(far)},
			     {FN(END) + 1, AT(far + 1)}));
	assert_int_equal(walk.count, 4);
	assert_int_equal(GB_FRAME_SIZE(walk.words[0]), GB_FRAME_FAR - 1);
	assert_int_equal(GB_FRAME_SIZE(walk.words[1]), GB_FRAME_FAR);
	assert_int_equal(walk.words[2], AT(far));
}

/* ---- no room ------------------------------------------------------------------------------------------------- */

/* `depth` frames of 8 bytes, then the outermost. */
static void recurse(size_t depth)
{
	size_t i;

	leaf(FN(RSP8), 0);
	for (i = 0; i < depth; i++)
		stack.words[i] = FN(i + 1 < depth ? RSP8 : END) + 1;
	stack.count = depth;
	unwind();
}

/* All frames of recurse(), up to the `count`th. */
static void assert_recursion(uint8_t end, size_t count, size_t depth)
{
	static struct unwound_frame expected[GB_MAX_USER_FRAMES];
	size_t i;

	for (i = 0; i < count; i++)
		expected[i] =
			(struct unwound_frame){FN(i < depth ? RSP8 : END) + (i > 0), AT(i + 1)};
	assert_frames(end, count, expected);
}

static void deepest(void **state)
{
	recurse(GB_MAX_USER_FRAMES - 2);
	assert_recursion(GB_STACK_COMPLETE, GB_MAX_USER_FRAMES - 1, GB_MAX_USER_FRAMES - 2);
	recurse(GB_MAX_USER_FRAMES - 1);
	assert_recursion(GB_STACK_COMPLETE, GB_MAX_USER_FRAMES, GB_MAX_USER_FRAMES - 1);
	recurse(GB_MAX_USER_FRAMES);
	assert_recursion(GB_STACK_FULL, GB_MAX_USER_FRAMES, GB_MAX_USER_FRAMES);
	recurse(3 * GB_MAX_USER_FRAMES);
	assert_recursion(GB_STACK_FULL, GB_MAX_USER_FRAMES, 3 * GB_MAX_USER_FRAMES);
}

/* Two signal frames that interrupted each other: words run out before frames do. */
static void no_more_words(void **state)
{
	size_t i, frames = GB_MAX_USER_WORDS * 2 / 3;
	static struct unwound_frame expected[GB_MAX_USER_WORDS];

	leaf(FN(SIGNAL), 0);
	stack.words[5 + GB_REG_RIP] = FN(SIGNAL) + 3;
	stack.words[5 + GB_REG_RSP] = AT(50);
	stack.words[55 + GB_REG_RIP] = FN(SIGNAL) + 7;
	stack.words[55 + GB_REG_RSP] = AT(0);
	for (i = 0; i <= frames; i++)
		expected[i] = (struct unwound_frame){FN(SIGNAL) + (i % 2 ? 3
								   : i   ? 7
									 : 0),
						     AT(i % 2 ? 0 : 50), SIGNALLED};
	unwind();
	assert_int_equal(walk.count, GB_MAX_USER_WORDS - 1); /* the next could need two */
	assert_frames(GB_STACK_FULL, frames, expected);
}

/* The first mapping on the way of which the table is yet to come, also where frame pointers led on. */
static void table_awaited(void **state)
{
	leaf(FN(RSP32), 0);
	stack.words[3] = JIT + 1;
	unwind();
	assert_int_equal(walk.awaited, -1);
	mappings[2].flags |= GB_MAPPING_AWAITED;
	unwind();
	assert_int_equal(walk.awaited, 2);
	leaf(JIT, AT(3));
	stack.words[4] = FN(END) + 1;
	unwind();
	assert_int_equal(walk.end, GB_STACK_COMPLETE);
	assert_int_equal(walk.awaited, 2);
	leaf(FN(END), 0);
	unwind();
	assert_int_equal(walk.awaited, -1);
	mappings[2].flags &= ~(uint32_t)GB_MAPPING_AWAITED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_not_known),
		cmocka_unit_test(no_mapping_from_a_rule),
		cmocka_unit_test(no_mapping_from_a_guess),
		cmocka_unit_test(no_mapping_after_a_guess),
		cmocka_unit_test(unmapped_leaf),
		cmocka_unit_test(edges_of_mappings),
		cmocka_unit_test(many_mappings),
		cmocka_unit_test(no_rule),
		cmocka_unit_test(not_monotonic),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(unreadable_signal_frame),
		cmocka_unit_test(odd_stack),
		cmocka_unit_test(far_frames),
		cmocka_unit_test(deepest),
		cmocka_unit_test(no_more_words),
		cmocka_unit_test(table_awaited),
	};

	return cmocka_run_group_tests(tests, setup_code, teardown_code);
}
