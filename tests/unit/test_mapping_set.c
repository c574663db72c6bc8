/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings laid over others, and who is left where; in the end, against a byte-by-byte model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/mapping_set.h"

#include "alloc.h"

#define MAX_OBJECTS 256

static struct mapping_set set;
static int uses[MAX_OBJECTS];

static void count_use(void *context, uint32_t object, int change)
{
	assert_ptr_equal(context, &set);
	assert_true(object < MAX_OBJECTS && (change == 1 || change == -1));
	uses[object] += change;
	assert_true(uses[object] >= 0);
}

static const struct mapping_counter counter = {count_use, &set};

static int add(uint32_t object, uint64_t begin, uint64_t end)
{
	const struct live_mapping item = {.mapping = {.begin = begin,
						      .end = end,
						      .bias = 1000 + object,
						      .page_offset = -(int32_t)object,
						      .flags = object & 3},
					  .object = object};

	return mapping_set_overlay(&set, &item, &counter);
}

static void must_add(uint32_t object, uint64_t begin, uint64_t end)
{
	assert_int_equal(add(object, begin, end), 0);
}

static int teardown(void **state)
{
	mapping_set_clear(&set);
	memset(uses, 0, sizeof(uses));
	return 0;
}

struct expected {
	uint64_t begin, end;
	uint32_t object;
};

static void assert_set(size_t count, const struct expected *expected)
{
	int seen[MAX_OBJECTS] = {0};
	size_t i;

	assert_int_equal(set.count, count);
	for (i = 0; i < count; i++) {
		const struct live_mapping *item = &set.items[i];

		assert_int_equal(item->mapping.begin, expected[i].begin);
		assert_int_equal(item->mapping.end, expected[i].end);
		assert_int_equal(item->object, expected[i].object);
		/* Where it is in its file does not change with where it begins. */
		assert_int_equal(item->mapping.bias, 1000 + item->object);
		assert_int_equal(item->mapping.page_offset, -(int32_t)item->object);
		assert_int_equal(item->mapping.flags, item->object & 3);
		seen[item->object]++;
	}
	assert_memory_equal(uses, seen, sizeof(seen));
}

#define SET(...)                                                                                   \
	sizeof((struct expected[]){__VA_ARGS__}) / sizeof(struct expected), (struct expected[])    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void apart(void **state)
{
	assert_set(0, NULL);
	must_add(1, 50, 60);
	must_add(2, 10, 20);
	must_add(3, 90, 100);
	must_add(4, 20, 30); /* they touch */
	must_add(5, 45, 50);
	assert_set(SET({10, 20, 2}, {20, 30, 4}, {45, 50, 5}, {50, 60, 1}, {90, 100, 3}));
}

static void over_one(void **state)
{
	must_add(1, 10, 20);
	must_add(2, 10, 20); /* all of it */
	assert_set(SET({10, 20, 2}));
	must_add(3, 10, 14); /* its beginning */
	assert_set(SET({10, 14, 3}, {14, 20, 2}));
	must_add(4, 18, 20); /* its end */
	assert_set(SET({10, 14, 3}, {14, 18, 2}, {18, 20, 4}));
	must_add(5, 15, 17); /* its middle */
	assert_set(SET({10, 14, 3}, {14, 15, 2}, {15, 17, 5}, {17, 18, 2}, {18, 20, 4}));
	must_add(6, 5, 11); /* from before */
	must_add(7, 19, 25); /* to behind */
	assert_set(SET({5, 11, 6}, {11, 14, 3}, {14, 15, 2}, {15, 17, 5}, {17, 18, 2}, {18, 19, 4},
		       {19, 25, 7}));
	must_add(8, 0, 100); /* all */
	assert_set(SET({0, 100, 8}));
}

static void over_many(void **state)
{
	must_add(1, 10, 20);
	must_add(2, 20, 30);
	must_add(3, 35, 40);
	must_add(4, 40, 50);
	must_add(5, 15, 45); /* two cut, two gone */
	assert_set(SET({10, 15, 1}, {15, 45, 5}, {45, 50, 4}));
	must_add(6, 10, 45); /* exactly two */
	assert_set(SET({10, 45, 6}, {45, 50, 4}));
	must_add(7, 2, 50);
	assert_set(SET({2, 50, 7}));
	assert_int_equal(uses[2] + uses[3], 0);
}

static void edges_of_the_address_space(void **state)
{
	must_add(1, 0, UINT64_MAX);
	must_add(2, 0, 1);
	must_add(3, UINT64_MAX - 1, UINT64_MAX);
	assert_set(SET({0, 1, 2}, {1, UINT64_MAX - 1, 1}, {UINT64_MAX - 1, UINT64_MAX, 3}));
}

/* ---- against a model ------------------------------------------------------------------------------------------ */

#define MODEL_BYTES 200

/* Whose each address is: object + 1, 0: nobody's. What lies side by side may be one object's in two mappings. */
static void assert_model(const uint32_t *model)
{
	uint32_t found[MODEL_BYTES] = {0};
	uint64_t at, last = 0;
	size_t i;

	for (i = 0; i < set.count; i++) {
		const struct gb_mapping *mapping = &set.items[i].mapping;

		assert_true(mapping->begin < mapping->end && mapping->begin >= last);
		for (at = mapping->begin; at < mapping->end; at++)
			found[at] = set.items[i].object + 1;
		last = mapping->end;
	}
	assert_memory_equal(found, model, sizeof(found));
}

static void random_overlays(void **state)
{
	uint32_t model[MODEL_BYTES] = {0}, random = 1;
	size_t round;

	for (round = 0; round < 5000; round++) {
		uint64_t begin, end, at;

		random = random * 1664525 + 1013904223;
		begin = (random >> 8) % (MODEL_BYTES - 1);
		end = begin + 1 + (random >> 20) % 40;
		end = end < MODEL_BYTES ? end : MODEL_BYTES;
		must_add((uint32_t)round % MAX_OBJECTS, begin, end);
		for (at = begin; at < end; at++)
			model[at] = (uint32_t)round % MAX_OBJECTS + 1;
		assert_model(model);
	}
}

/* ---- no memory ------------------------------------------------------------------------------------------------ */

/* Nothing has changed, no use is counted. */
static void failing_allocations(void **state)
{
	struct live_mapping before[8];
	int before_uses[MAX_OBJECTS];
	uint32_t i;

	for (i = 0; i < 7; i++)
		must_add(i, 10 * i, 10 * i + 10);
	memcpy(before, set.items, 7 * sizeof(*before));
	memcpy(before_uses, uses, sizeof(uses));
	alloc_fail_at(1);
	/* there is room for one more, which might be two */
	assert_int_equal(add(9, 12, 55), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_int_equal(set.count, 7);
	assert_memory_equal(set.items, before, 7 * sizeof(*before));
	assert_memory_equal(uses, before_uses, sizeof(uses));
	must_add(9, 12, 55);
	assert_set(SET({0, 10, 0}, {10, 12, 1}, {12, 55, 9}, {55, 60, 5}, {60, 70, 6}));
	mapping_set_clear(&set);
	alloc_fail_at(1);
	assert_int_equal(add(9, 12, 55), -ENOMEM);
	assert_true(alloc_fail_stop());
	assert_null(set.items);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_teardown(test, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(apart),           FRESH(over_one),
		FRESH(over_many),       FRESH(edges_of_the_address_space),
		FRESH(random_overlays), FRESH(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
