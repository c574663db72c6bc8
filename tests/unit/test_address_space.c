/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces: which mapping an address had at a time, and when that can change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "target/address_space.h"
#include "target/object.h"

#include "alloc.h"

static struct object objects[4];

static void add(struct address_space *space, uint64_t start, uint64_t end, uint64_t from_ns,
		size_t object)
{
	const struct mapping mapping = {.start = start,
					.end = end,
					.offset = 0x1000,
					.from_ns = from_ns,
					.object = &objects[object]};

	assert_int_equal(address_space_add(space, &mapping), 0);
}

/* Which object is at `address`; -1: none. */
static int at(const struct address_space *space, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(space, address, time_ns);

	return mapping ? (int)(mapping->object - objects) : -1;
}

static void test_empty(void **state)
{
	struct address_space space = {0};

	assert_int_equal(at(&space, 0, 0), -1);
	assert_int_equal(at(&space, UINT64_MAX, UINT64_MAX), -1);
	assert_true(address_space_era_end(&space, 0) == UINT64_MAX);
	address_space_clear(&space);
}

static void test_bounds(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 200, 300, 0, 1);
	add(&space, UINT64_MAX - 10, UINT64_MAX, 0, 2);
	assert_int_equal(at(&space, 99, 5), -1);
	assert_int_equal(at(&space, 100, 5), 0);
	assert_int_equal(at(&space, 199, 5), 0);
	assert_int_equal(at(&space, 200, 5), 1);
	assert_int_equal(at(&space, 299, 5), 1);
	assert_int_equal(at(&space, 300, 5), -1);
	assert_int_equal(at(&space, UINT64_MAX - 1, 5), 2);
	assert_int_equal(at(&space, UINT64_MAX, 5), -1);
	assert_int_equal(space.era_count, 0);
	address_space_clear(&space);
	assert_int_equal(space.count, 0);
	assert_null(space.items);
}

/* dlclose and dlopen: the same addresses hold one library, then another. */
static void test_by_time(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 10, 0);
	add(&space, 100, 200, 20, 1);
	add(&space, 100, 200, 30, 2);
	assert_int_equal(at(&space, 150, 10), 0);
	assert_int_equal(at(&space, 150, 19), 0);
	assert_int_equal(at(&space, 150, 20), 1);
	assert_int_equal(at(&space, 150, 29), 1);
	assert_int_equal(at(&space, 150, 30), 2);
	assert_int_equal(at(&space, 150, UINT64_MAX), 2);
	/* Before all of them: the first, since its event may have been late. */
	assert_int_equal(at(&space, 150, 0), 0);
	assert_int_equal(at(&space, 150, 9), 0);
	address_space_clear(&space);
}

static void test_eras(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 300, 400, 10, 1); /* no address changes hands */
	assert_true(address_space_era_end(&space, 0) == UINT64_MAX);
	add(&space, 150, 160, 20, 2);
	add(&space, 390, 410, 20, 2);
	add(&space, 100, 200, 30, 3);
	assert_int_equal(space.era_count, 2);
	assert_int_equal(address_space_era_end(&space, 0), 20);
	assert_int_equal(address_space_era_end(&space, 19), 20);
	assert_int_equal(address_space_era_end(&space, 20), 30);
	assert_int_equal(address_space_era_end(&space, 29), 30);
	assert_true(address_space_era_end(&space, 30) == UINT64_MAX);
	address_space_clear(&space);
}

/* What is looked up within an era does not depend on when: the promise that makes it cacheable. */
static void test_an_era_is_constant(void **state)
{
	struct address_space space = {0};
	uint64_t address, time_ns;

	add(&space, 0, 40, 0, 0);
	add(&space, 10, 20, 5, 1);
	add(&space, 60, 90, 8, 2);
	add(&space, 15, 70, 12, 3);
	add(&space, 0, 100, 20, 0);
	for (address = 0; address < 100; address++) {
		int now = at(&space, address, 0);

		for (time_ns = 1; time_ns < 30; time_ns++) {
			int then = now;

			now = at(&space, address, time_ns);
			if (address_space_era_end(&space, time_ns - 1) != time_ns)
				assert_int_equal(now, then);
		}
	}
	address_space_clear(&space);
}

static void test_partial_overlaps(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 50, 110, 10, 1);
	add(&space, 190, 250, 20, 2);
	add(&space, 105, 195, 30, 3);
	assert_int_equal(at(&space, 104, 40), 1);
	assert_int_equal(at(&space, 105, 40), 3);
	assert_int_equal(at(&space, 194, 40), 3);
	assert_int_equal(at(&space, 195, 40), 2);
	assert_int_equal(at(&space, 105, 29), 1);
	assert_int_equal(at(&space, 150, 29), 0);
	assert_int_equal(at(&space, 105, 9), 0);
	assert_int_equal(at(&space, 60, 9), 1);
	address_space_clear(&space);
}

static void test_not_added_twice(void **state)
{
	struct address_space space = {0};
	struct mapping other = {
		.start = 100, .end = 200, .offset = 0x2000, .from_ns = 9, .object = &objects[0]};

	add(&space, 100, 200, 0, 0);
	add(&space, 100, 200, 5, 0);
	assert_int_equal(space.count, 1);
	assert_int_equal(space.items[0].from_ns, 0);
	assert_int_equal(space.era_count, 0);
	/* Another offset, size or object is another mapping. */
	assert_int_equal(address_space_add(&space, &other), 0);
	add(&space, 100, 201, 10, 0);
	add(&space, 100, 201, 11, 1);
	assert_int_equal(space.count, 4);
	/* What was replaced and came back is added. */
	add(&space, 100, 200, 12, 0);
	assert_int_equal(space.count, 5);
	address_space_clear(&space);
}

/* from_ns never falls, whatever the caller says. */
static void test_late_mapping(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 50, 0);
	add(&space, 100, 150, 40, 1);
	assert_int_equal(space.items[1].from_ns, 50);
	assert_int_equal(at(&space, 120, 50), 1);
	assert_int_equal(at(&space, 160, 50), 0);
	address_space_clear(&space);
}

static void test_inherit(void **state)
{
	struct address_space parent = {0}, child = {0};

	add(&parent, 100, 200, 0, 0);
	add(&parent, 300, 400, 10, 1);
	add(&parent, 350, 360, 20, 2);
	add(&parent, 500, 600, 30, 3);
	assert_int_equal(address_space_inherit(&child, &parent, 20), 0);
	assert_int_equal(child.count, 3);
	assert_int_equal(child.era_count, 0);
	assert_int_equal(at(&child, 100, 0), 0);
	assert_int_equal(at(&child, 355, 0), 2);
	assert_int_equal(at(&child, 361, 0), 1);
	assert_int_equal(at(&child, 550, 100), -1);
	/* They were there before: nothing is added. */
	assert_int_equal(address_space_inherit(&child, &(struct address_space){0}, 20), 0);
	assert_int_equal(child.count, 3);
	address_space_clear(&parent);
	address_space_clear(&child);
}

/* Overlapping mappings of one's own are older and newer than each other in turn; there must be an end. */
static void test_inherit_from_itself(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 0, 0);
	add(&space, 150, 250, 0, 1);
	assert_int_equal(address_space_inherit(&space, &space, 10), 0);
	assert_true(space.count <= 4);
	assert_int_equal(at(&space, 225, 0), 1);
	address_space_clear(&space);
}

/* ---- dropping ---------------------------------------------------------------------------------- */

struct gone {
	size_t items[16];
	size_t count;
};

static void note_gone(void *context, size_t index)
{
	struct gone *gone = context;

	assert_true(gone->count < 16);
	gone->items[gone->count++] = index;
}

static void test_expire(void **state)
{
	struct address_space space = {0};
	struct gone gone = {0};

	add(&space, 100, 200, 0, 0); /* covered by the two at 10 and 20 */
	add(&space, 300, 400, 0, 1); /* half of it is */
	add(&space, 100, 150, 10, 1);
	add(&space, 500, 600, 10, 2);
	add(&space, 150, 350, 20, 2);
	add(&space, 500, 600, 30, 3);
	assert_int_equal(address_space_expire(&space, 9, note_gone, &gone), 0);
	assert_int_equal(space.era_count, 3);
	assert_int_equal(address_space_expire(&space, 19, note_gone, &gone), 0);
	assert_int_equal(space.era_count, 2);
	assert_int_equal(address_space_expire(&space, 20, note_gone, &gone), 1);
	assert_int_equal(space.era_count, 1);
	assert_int_equal(space.count, 5);
	assert_int_equal(at(&space, 120, 20), 1);
	assert_int_equal(at(&space, 180, 20), 2);
	assert_int_equal(at(&space, 380, 20), 1);
	assert_int_equal(at(&space, 550, 29), 2);
	assert_int_equal(address_space_expire(&space, 30, note_gone, &gone), 1);
	assert_int_equal(space.count, 4);
	assert_int_equal(space.era_count, 0);
	assert_int_equal(at(&space, 550, 29), 3);
	assert_int_equal(gone.count, 2);
	assert_int_equal(gone.items[0], 0);
	assert_int_equal(gone.items[1], 2); /* of those that were there then */
	assert_int_equal(address_space_expire(&space, UINT64_MAX, NULL, NULL), 0);
	address_space_clear(&space);
}

static void test_expire_tells_the_highest_first(void **state)
{
	struct address_space space = {0};
	struct gone gone = {0};
	uint64_t i;

	for (i = 0; i < 5; i++)
		add(&space, 100 + 10 * i, 110 + 10 * i, 1, 0);
	add(&space, 100, 130, 2, 1);
	assert_int_equal(address_space_expire(&space, 2, note_gone, &gone), 3);
	assert_int_equal(gone.items[0], 2);
	assert_int_equal(gone.items[1], 1);
	assert_int_equal(gone.items[2], 0);
	assert_int_equal(at(&space, 135, 2), 0);
	address_space_clear(&space);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* What can be found at the horizon and after it is the same as without dropping. */
static void test_expire_random(void **state)
{
	struct address_space whole = {0}, space = {0};
	uint64_t now, horizon, address;
	uint32_t seed = 7;
	size_t most = 0;

	for (now = 1; now <= 3000; now++) {
		uint64_t start = next_random(&seed) % 60;
		uint64_t end = start + 1 + next_random(&seed) % 8;
		size_t object = next_random(&seed) % 4;

		add(&whole, start, end, now, object);
		add(&space, start, end, now, object);
		horizon = now > 50 ? now - 50 : 0;
		if (next_random(&seed) % 10)
			continue;
		address_space_expire(&space, horizon, NULL, NULL);
		most = space.count > most ? space.count : most;
		for (address = 0; address < 70; address++) {
			uint64_t when = horizon + next_random(&seed) % 60;

			assert_int_equal(at(&space, address, when), at(&whole, address, when));
		}
	}
	assert_true(whole.count > 2000);
	assert_in_range(most, 50,
			140); /* as many as there are addresses, and those of 60 time steps */
	assert_in_range(space.era_count, 10, 60);
	assert_true(address_space_bytes(&space) < address_space_bytes(&whole) / 8);
	address_space_clear(&whole);
	address_space_clear(&space);
}

/* Without memory for finding out, what is there stays. */
static void test_expire_no_memory(void **state)
{
	struct address_space space = {0};

	add(&space, 100, 200, 1, 0);
	add(&space, 100, 200, 2, 1);
	alloc_fail_at(1);
	assert_int_equal(address_space_expire(&space, 5, NULL, NULL), 0);
	assert_true(alloc_fail_stop());
	assert_int_equal(space.count, 2);
	assert_int_equal(address_space_expire(&space, 5, NULL, NULL), 1);
	assert_int_equal(at(&space, 100, 5), 1);
	address_space_clear(&space);
}

static int fill(void *context)
{
	struct address_space parent = {0}, child = {0};
	struct mapping mapping = {.object = &objects[0]};
	int err = 0;

	for (mapping.from_ns = 1; mapping.from_ns <= 40 && !err; mapping.from_ns++) {
		size_t count = parent.count;

		mapping.start = mapping.from_ns % 4;
		mapping.end = mapping.start + 2;
		err = address_space_add(&parent, &mapping);
		assert_int_equal(parent.count, count + !err);
	}
	if (!err)
		err = address_space_inherit(&child, &parent, 40);
	address_space_clear(&parent);
	address_space_clear(&child);
	return err;
}

static void test_no_memory(void **state)
{
	/* Eras and mappings of the parent, each 8, 16, 32, 64; mappings of the child. */
	assert_int_equal(alloc_fail_each(fill, NULL), 4 + 4 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_by_time),
		cmocka_unit_test(test_eras),
		cmocka_unit_test(test_an_era_is_constant),
		cmocka_unit_test(test_partial_overlaps),
		cmocka_unit_test(test_not_added_twice),
		cmocka_unit_test(test_late_mapping),
		cmocka_unit_test(test_inherit),
		cmocka_unit_test(test_inherit_from_itself),
		cmocka_unit_test(test_expire),
		cmocka_unit_test(test_expire_tells_the_highest_first),
		cmocka_unit_test(test_expire_random),
		cmocka_unit_test(test_expire_no_memory),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
