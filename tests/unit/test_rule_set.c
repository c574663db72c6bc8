/* SPDX-License-Identifier: BSD-2-Clause */
/* test_rule_set.c - states -> numbers of distinct rules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "unwind/limits.h"
#include "unwind/rule_set.h"

static struct cfa_key key_of_offset(int32_t offset)
{
	struct cfa_state state = {.how = HOW_WITH_CFA(0u, CFA_IS_REG, 7), .cfa_off = offset};

	return cfa_key_of(&state);
}

#define FIXED (RULE_START + 1) /* rules that need no state */

static void test_rules_are_distinct(void **state)
{
	struct rule_set set;
	uint32_t rule, i;

	assert_int_equal(rule_set_open(&set), 0);
	assert_int_equal(set.count, FIXED);
	for (i = 0; i < 6000; i++) {
		assert_int_equal(rule_set_number(&set, key_of_offset((int32_t)i), &rule), 0);
		assert_int_equal(rule, i + FIXED);
	}
	for (i = 0; i < 6000; i++) {
		assert_int_equal(rule_set_number(&set, key_of_offset((int32_t)i), &rule), 0);
		assert_int_equal(rule, i + FIXED);
		assert_int_equal(set.rules[rule].cfa, GB_CFA_SP);
		assert_int_equal(set.rules[rule].cfa_off, i);
	}
	assert_int_equal(set.count, 6000 + FIXED);
	rule_set_close(&set);
}

static void test_too_many_rules(void **state)
{
	struct rule_set set;
	uint32_t rule = 0, i;

	assert_int_equal(rule_set_open(&set), 0);
	for (i = 0; set.count < UNWIND_RULES_MAX && i < 2 * UNWIND_RULES_MAX; i++)
		assert_int_equal(rule_set_number(&set, key_of_offset((int32_t)i), &rule), 0);
	assert_int_equal(set.count, UNWIND_RULES_MAX);
	assert_int_equal(rule_set_number(&set, key_of_offset(-1), &rule), -EFBIG);
	assert_int_equal(rule_set_number(&set, key_of_offset(0), &rule), 0);
	assert_int_equal(rule, FIXED);
	rule_set_close(&set);
}

static int attempt(void *context)
{
	struct rule_set set;
	uint32_t rule;
	int err = rule_set_open(&set), i;

	for (i = 0; i < 5000 && !err; i++)
		err = rule_set_number(&set, key_of_offset(i), &rule);
	rule_set_close(&set);
	return err;
}

static void test_failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules_are_distinct),
		cmocka_unit_test(test_too_many_rules),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
