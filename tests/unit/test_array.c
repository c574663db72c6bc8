/* SPDX-License-Identifier: BSD-2-Clause */
/* Growable arrays: how they grow, and what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"

#include "alloc.h"

struct number_pool {
	int *items;
	size_t count, capacity;
};

static void test_grows_by_doubling(void **state)
{
	void *items = NULL;
	size_t capacity = 0, calls;

	assert_int_equal(array_reserve(&items, &capacity, 0, 4), 0);
	assert_null(items);
	assert_int_equal(array_reserve(&items, &capacity, 1, 4), 0);
	assert_int_equal(capacity, 8);
	calls = alloc_count();
	assert_int_equal(array_reserve(&items, &capacity, 8, 4), 0);
	assert_int_equal(alloc_count(), calls);
	assert_int_equal(array_reserve(&items, &capacity, 9, 4), 0);
	assert_int_equal(capacity, 16);
	assert_int_equal(array_reserve(&items, &capacity, 100, 4), 0);
	assert_int_equal(capacity, 128);
	memset(items, 0, 128 * 4);
	free(items);
}

static void test_keeps_what_is_in_it(void **state)
{
	struct number_pool numbers = {0};
	int i;

	for (i = 0; i < 1000; i++) {
		assert_int_equal(ARRAY_ROOM(&numbers), 0);
		numbers.items[numbers.count++] = i;
	}
	assert_int_equal(numbers.capacity, 1024);
	for (i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i);
	free(numbers.items);
}

static void assert_refused(size_t need, size_t item_bytes)
{
	void *item = malloc(1), *items = item;
	size_t capacity = 1, calls = alloc_count();

	assert_int_equal(array_reserve(&items, &capacity, need, item_bytes), -ENOMEM);
	assert_ptr_equal(items, item);
	assert_int_equal(capacity, 1);
	assert_int_equal(alloc_count(), calls);
	free(item);
}

/* Sizes that do not fit are refused before memory is asked for. */
static void test_refuses_overflow(void **state)
{
	assert_refused(SIZE_MAX, 1);
	assert_refused(SIZE_MAX / 2 + 2, 1);
	assert_refused(SIZE_MAX / 8 + 1, 8);
	assert_refused(SIZE_MAX / 16, 24);
}

static void test_no_memory_changes_nothing(void **state)
{
	struct number_pool numbers = {0};
	int *items;

	alloc_fail_at(1);
	assert_int_equal(ARRAY_ROOM(&numbers), -ENOMEM);
	assert_null(numbers.items);
	assert_int_equal(numbers.capacity, 0);
	assert_true(alloc_fail_stop());
	assert_int_equal(ARRAY_ROOM(&numbers), 0);
	numbers.items[0] = 42;
	numbers.count = 8;
	items = numbers.items;
	alloc_fail_at(1);
	assert_int_equal(ARRAY_ROOM(&numbers), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_ptr_equal(numbers.items, items);
	assert_int_equal(numbers.capacity, 8);
	assert_int_equal(numbers.items[0], 42);
	free(numbers.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows_by_doubling),
		cmocka_unit_test(test_keeps_what_is_in_it),
		cmocka_unit_test(test_refuses_overflow),
		cmocka_unit_test(test_no_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
