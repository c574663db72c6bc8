/* SPDX-License-Identifier: BSD-2-Clause */
/* test_address_space_cost.c - address spaces that are made to cost much: large ones, many that share, churn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/address_space.h"
#include "target/object.h"

#include "address_space_fixture.h"
#include "alloc.h"

static void note_visit(void *context, const struct mapping *mapping)
{
	++*(size_t *)context;
}

#define MANY 60000

/* Each fork maps something: what all have in common is there once. */
static void test_forks_share(void **state)
{
	static struct address_space children[500];
	struct address_space parent = {0};
	uint64_t round = address_space_round(), i;
	size_t nodes = 0;

	for (i = 0; i < MANY; i++)
		add(&parent, i * 0x2000, i * 0x2000 + 0x1000, i, i % 4);
	address_space_visit(&parent, round, note_visit, &nodes);
	assert_int_equal(nodes, MANY);
	for (i = 0; i < 500; i++) {
		assert_int_equal(address_space_inherit(&children[i], &parent, MANY), 0);
		add(&children[i], i * 0x2000, i * 0x2000 + 0x800, MANY + i, (i + 1) % 4);
		assert_int_equal(at(&children[i], i * 0x2000, UINT64_MAX), (i + 1) % 4);
		assert_int_equal(at(&children[i], i * 0x2000 + 0x800, UINT64_MAX), i % 4);
		assert_int_equal(at(&parent, i * 0x2000, UINT64_MAX), i % 4);
		address_space_visit(&children[i], round, note_visit, &nodes);
		assert_in_range(children[i].nodes, 3, 120);
	}
	assert_in_range(nodes, MANY, MANY + 500 * 60);
	address_space_clear(&parent);
	for (i = 0; i < 500; i++)
		address_space_clear(&children[i]);
}

/* What was first stays, and what was last; all the others make room, and are counted. */
static void test_limit(void **state)
{
	struct address_space space = {0};
	uint64_t i;

	for (i = 0; i < MANY; i++) {
		add(&space, i * 0x2000, i * 0x2000 + 0x1000, i, i % 4);
		assert_int_equal(address_space_limit(&space, 1024), 0);
		assert_in_range(space.count, 1, 1024);
	}
	for (i = 0; i < 128; i++)
		assert_int_equal(at(&space, i * 0x2000, UINT64_MAX), i % 4);
	for (i = MANY - 640; i < MANY; i++)
		assert_int_equal(at(&space, i * 0x2000, UINT64_MAX), i % 4);
	assert_int_equal(at(&space, 0x2000 * 1000, UINT64_MAX), -1);
	assert_int_equal(space.left_out, MANY - space.count);
	assert_ptr_equal(space.program, &objects[0]);
	address_space_clear(&space);
}

/* The same address again and again, in every way in which mappings can overlap. */
static void test_churn_at_one_place(void **state)
{
	struct address_space space = {0};
	uint32_t seed = 3;
	uint64_t i;

	for (i = 1; i <= MANY; i++) {
		const uint64_t start = next_random(&seed) % 64;

		add(&space, start, start + 1 + next_random(&seed) % 64, i, i % 4);
		assert_int_equal(address_space_limit(&space, 16384), 0);
		assert_in_range(space.count, 1, 16384);
		assert_in_range(space.era_count, 0, 8192);
		assert_int_equal(at(&space, start, i), i % 4);
	}
	assert_true(space.left_out > MANY / 2);
	assert_int_equal(at(&space, 500, 0), -1);
	address_space_clear(&space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forks_share),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_churn_at_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
