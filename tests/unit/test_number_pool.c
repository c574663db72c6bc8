/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that are given back and used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/number_pool.h"

#include "alloc.h"

static void test_order(void **state)
{
	struct number_pool numbers = {0};

	assert_int_equal(number_pool_take(&numbers), 0);
	assert_int_equal(number_pool_take(&numbers), 1);
	assert_int_equal(number_pool_take(&numbers), 2);
	number_pool_give(&numbers, 1);
	number_pool_give(&numbers, 0);
	assert_int_equal(numbers.top, 3);
	assert_int_equal(number_pool_take(&numbers), 0);
	assert_int_equal(number_pool_take(&numbers), 1);
	assert_int_equal(number_pool_take(&numbers), 3);
	number_pool_clear(&numbers);
	assert_int_equal(number_pool_take(&numbers), 0);
	number_pool_clear(&numbers);
}

/* The highest one needs no memory. */
static void test_highest(void **state)
{
	struct number_pool numbers = {0};

	number_pool_take(&numbers);
	number_pool_take(&numbers);
	number_pool_give(&numbers, 1);
	assert_int_equal(numbers.top, 1);
	assert_int_equal(numbers.capacity, 0);
	assert_int_equal(number_pool_take(&numbers), 1);
	number_pool_clear(&numbers);
}

/* At most 64 are out at once, in any order: always different ones, and below 64. */
static void test_random(void **state)
{
	struct number_pool numbers = {0};
	bool is_out[64] = {false};
	uint32_t seed = 1;
	int i;

	for (i = 0; i < 100000; i++) {
		uint32_t number = (seed = seed * 1664525 + 1013904223) >> 26;

		if (is_out[number]) {
			number_pool_give(&numbers, number);
			is_out[number] = false;
			continue;
		}
		number = number_pool_take(&numbers);
		assert_in_range(number, 0, 63);
		assert_false(is_out[number]);
		is_out[number] = true;
	}
	number_pool_clear(&numbers);
}

/* Without memory a number is lost, no more. */
static void test_no_memory(void **state)
{
	struct number_pool numbers = {0};

	number_pool_take(&numbers);
	number_pool_take(&numbers);
	alloc_fail_at(1);
	number_pool_give(&numbers, 0);
	assert_true(alloc_fail_stop());
	assert_int_equal(number_pool_take(&numbers), 2);
	number_pool_clear(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_highest),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
