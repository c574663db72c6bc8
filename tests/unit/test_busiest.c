/* SPDX-License-Identifier: BSD-2-Clause */
/* test_busiest.c - the threads that are shown first: the busiest, and of equals the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/busiest.h"

#define MANY 1000

static void idle_threads_are_not_listed(void **state)
{
	struct busiest busiest = {0};

	busiest_add(&busiest, 3, 0);
	assert_int_equal(busiest.count, 0);
	busiest_add(&busiest, 4, 1);
	busiest_add(&busiest, 5, 0);
	assert_int_equal(busiest.count, 1);
	assert_int_equal(busiest.items[0].index, 4);
}

static void equals_stay_in_order(void **state)
{
	struct busiest busiest = {0};
	uint32_t i;

	for (i = 0; i < 2 * BUSIEST_MAX; i++)
		busiest_add(&busiest, i, 7);
	assert_int_equal(busiest.count, BUSIEST_MAX);
	for (i = 0; i < BUSIEST_MAX; i++)
		assert_int_equal(busiest.items[i].index, i);
}

static int compare(const void *a, const void *b)
{
	const struct busy_thread *left = a, *right = b;

	if (left->cpu_ns != right->cpu_ns)
		return left->cpu_ns < right->cpu_ns ? 1 : -1;
	return left->index < right->index ? -1 : 1;
}

static void they_are_those_of_a_sorted_list(void **state)
{
	struct busy_thread all[MANY];
	struct busiest busiest = {0};
	uint64_t random = 1;
	uint32_t i;

	for (i = 0; i < MANY; i++) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		all[i] = (struct busy_thread){1 + (random >> 54), i};
		busiest_add(&busiest, i, all[i].cpu_ns);
	}
	qsort(all, MANY, sizeof(all[0]), compare);
	assert_int_equal(busiest.count, BUSIEST_MAX);
	for (i = 0; i < BUSIEST_MAX; i++) {
		assert_int_equal(busiest.items[i].index, all[i].index);
		assert_int_equal(busiest.items[i].cpu_ns, all[i].cpu_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_threads_are_not_listed),
		cmocka_unit_test(equals_stay_in_order),
		cmocka_unit_test(they_are_those_of_a_sorted_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
