/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers are dense, in order of first use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/unique.h"

#include "alloc.h"

#define KEYS 5000

static uint64_t key_of(uint32_t i)
{
	/* Prefix and frame of a stack; also what differs in the upper half alone. */
	return (uint64_t)(i * 7 + 1) << 32 | i / 3;
}

static void numbers_are_dense(void **state)
{
	struct unique_table table = {0};
	uint32_t i, id, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < KEYS; i++) {
			assert_int_equal(unique_add(&table, key_of(i), &id), 0);
			assert_int_equal(id, i);
		}
		assert_int_equal(table.count, KEYS);
	}
	for (i = 0; i < KEYS; i++) {
		assert_true(table.keys[i] == key_of(i));
		assert_true(unique_find(&table, key_of(i), &id));
		assert_int_equal(id, i);
	}
	id = 77;
	assert_false(unique_find(&table, key_of(KEYS), &id));
	assert_int_equal(id, 77);
	unique_clear(&table);
}

static void extreme_keys(void **state)
{
	static const uint64_t keys[] = {0, UINT64_MAX, 1ULL << 63, 1, UINT32_MAX, 1ULL << 32};
	struct unique_table table = {0};
	uint32_t i, id;

	for (i = 0; i < 6; i++) {
		assert_false(unique_find(&table, keys[i], &id));
		assert_int_equal(unique_add(&table, keys[i], &id), 0);
		assert_int_equal(id, i);
	}
	unique_clear(&table);
}

static void reset_forgets(void **state)
{
	struct unique_table table = {0};
	uint32_t id;

	unique_reset(&table);
	assert_int_equal(unique_add(&table, 5, &id), 0);
	assert_int_equal(unique_add(&table, 6, &id), 0);
	assert_int_equal(id, 1);
	unique_reset(&table);
	assert_int_equal(table.count, 0);
	assert_false(unique_find(&table, 5, &id));
	assert_int_equal(unique_add(&table, 6, &id), 0);
	assert_int_equal(id, 0);
	unique_clear(&table);
}

/*
 * A stack is added after its prefix, so its prefix has a smaller number, also when stacks are met
 * again.
 */
static void parents_precede_children(void **state)
{
	struct unique_table table = {0};
	uint32_t leaf, depth, seed = 1;

	for (leaf = 0; leaf < 500; leaf++) {
		uint32_t stack = UNIQUE_NONE;

		for (depth = 0; depth < 20; depth++) {
			seed = seed * 1664525 + 1013904223;
			assert_int_equal(
				unique_add(&table, (uint64_t)stack << 32 | seed >> 30, &stack), 0);
		}
	}
	for (leaf = 0; leaf < table.count; leaf++) {
		uint32_t prefix = (uint32_t)(table.keys[leaf] >> 32);

		assert_true(prefix == UNIQUE_NONE || prefix < leaf);
	}
	assert_true(table.count > 1000 && table.count < 10000);
	unique_clear(&table);
}

static void a_failed_add_changes_nothing(void **state)
{
	struct unique_table table = {0};
	uint32_t i, id, failures = 0;
	size_t n;

	for (i = 0; i < 100; i++) {
		for (n = 1;; n++) {
			int err;

			id = 1234;
			alloc_fail_at(n);
			err = unique_add(&table, key_of(i), &id);
			if (!alloc_fail_stop()) {
				assert_int_equal(err, 0);
				assert_int_equal(id, i);
				break;
			}
			failures++;
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(id, 1234);
			assert_int_equal(table.count, i);
			assert_false(unique_find(&table, key_of(i), &id));
		}
	}
	assert_true(failures >= 8);
	unique_clear(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_dense),
		cmocka_unit_test(extreme_keys),
		cmocka_unit_test(reset_forgets),
		cmocka_unit_test(parents_precede_children),
		cmocka_unit_test(a_failed_add_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
