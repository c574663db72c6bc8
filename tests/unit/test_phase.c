/* SPDX-License-Identifier: BSD-2-Clause */
/* test_phase.c - every action in every phase: allowed as phase.h draws it, or refused without a change. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "session/phase.h"

#define NO (-1)

static const int expected[PHASE_COUNT][ACTION_COUNT] = {
	/* start, begin, pause, resume, capture, stop, save */
	[PHASE_NEW] = {PHASE_WAITING, NO, NO, NO, NO, PHASE_STOPPED, NO},
	[PHASE_WAITING] = {NO, PHASE_RECORDING, NO, NO, NO, PHASE_STOPPED, NO},
	[PHASE_RECORDING] = {NO, NO, PHASE_PAUSED, NO, PHASE_RECORDING, PHASE_STOPPED, NO},
	[PHASE_PAUSED] = {NO, NO, NO, PHASE_RECORDING, PHASE_PAUSED, PHASE_STOPPED, NO},
	[PHASE_STOPPED] = {NO, NO, NO, NO, NO, NO, PHASE_SAVED},
	[PHASE_SAVED] = {NO, NO, NO, NO, NO, NO, NO},
};

static void test_every_action_in_every_phase(void **state)
{
	int from, action;

	(void)state;
	for (from = 0; from < PHASE_COUNT; from++) {
		for (action = 0; action < ACTION_COUNT; action++) {
			enum phase phase = (enum phase)from;
			int want = expected[from][action];

			assert_int_equal(phase_step(&phase, (enum phase_action)action),
					 want == NO ? -EPERM : 0);
			assert_int_equal(phase, want == NO ? from : want);
		}
	}
}

static void test_a_whole_life(void **state)
{
	static const enum phase_action life[] = {
		ACTION_START,   ACTION_BEGIN,  ACTION_CAPTURE, ACTION_PAUSE,
		ACTION_CAPTURE, ACTION_RESUME, ACTION_STOP,    ACTION_SAVE,
	};
	enum phase phase = PHASE_NEW;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(life) / sizeof(life[0]); i++)
		assert_int_equal(phase_step(&phase, life[i]), 0);
	assert_int_equal(phase, PHASE_SAVED);
}

static void test_names_differ(void **state)
{
	int a, b;

	(void)state;
	for (a = 0; a < PHASE_COUNT; a++)
		for (b = 0; b < a; b++)
			assert_string_not_equal(phase_name((enum phase)a),
						phase_name((enum phase)b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_action_in_every_phase),
		cmocka_unit_test(test_a_whole_life),
		cmocka_unit_test(test_names_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
