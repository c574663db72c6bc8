/* SPDX-License-Identifier: BSD-2-Clause */
/* test_address_sort.c - the radix sort of symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "alloc.h"
#include "symbol/address_sort.h"

#define COUNT 5000

struct item {
	uint64_t address;
	uint32_t number; /* its place before sorting */
	uint32_t check;
};

static struct item items[COUNT];

static uint64_t random_address(unsigned int *seed, uint64_t mask, uint64_t base)
{
	uint64_t bits = (uint64_t)rand_r(seed) << 40 ^ (uint64_t)rand_r(seed) << 20 ^
			(uint64_t)rand_r(seed);

	return base + (bits & mask);
}

static void check_sorted(size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		assert_int_equal(items[i].check, (uint32_t)items[i].address ^ items[i].number);
		if (!i)
			continue;
		assert_true(items[i - 1].address <= items[i].address);
		if (items[i - 1].address == items[i].address)
			assert_true(items[i - 1].number < items[i].number);
	}
}

static void fill(size_t count, uint64_t mask, uint64_t base)
{
	unsigned int seed = 7;
	size_t i;

	for (i = 0; i < count; i++) {
		items[i].address = random_address(&seed, mask, base);
		items[i].number = (uint32_t)i;
		items[i].check = (uint32_t)items[i].address ^ items[i].number;
	}
}

static void test_sort(void **state)
{
	/* An odd and an even number of passes, many equal addresses, the full width. */
	static const uint64_t masks[] = {0xff, 0x3f, 0xffff, 0xff00, 0xffffff, ~0ULL};
	size_t i;

	for (i = 0; i < sizeof(masks) / sizeof(*masks); i++) {
		fill(COUNT, masks[i], 0);
		assert_int_equal(address_sort(items, COUNT, sizeof(*items)), 0);
		check_sorted(COUNT);
		fill(COUNT, masks[i], 0xffffffff80000000);
		assert_int_equal(address_sort(items, COUNT, sizeof(*items)), 0);
		check_sorted(COUNT);
	}
}

static void test_sort_small(void **state)
{
	assert_int_equal(address_sort(NULL, 0, sizeof(*items)), 0);
	fill(1, ~0ULL, 0);
	assert_int_equal(address_sort(items, 1, sizeof(*items)), 0);
	check_sorted(1);
	items[0] = (struct item){.address = 2, .number = 0, .check = 2};
	items[1] = (struct item){.address = 1, .number = 1, .check = 0};
	assert_int_equal(address_sort(items, 2, sizeof(*items)), 0);
	assert_int_equal(items[0].address, 1);
	check_sorted(2);
}

static void test_sort_in_order_needs_nothing(void **state)
{
	size_t before = alloc_count();

	assert_int_equal(address_sort(items, 2, sizeof(*items)), 0);
	assert_int_equal(alloc_count(), before);
}

static int sort_once(void *context)
{
	fill(COUNT, 0xffffff, 0);
	return address_sort(items, COUNT, sizeof(*items));
}

static void test_sort_no_memory(void **state)
{
	assert_int_equal(alloc_fail_each(sort_once, NULL), 1);
	check_sorted(COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_sort_small),
		cmocka_unit_test(test_sort_in_order_needs_nothing),
		cmocka_unit_test(test_sort_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
