/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers are dense, in order of first use; values are what was put. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/u64_map.h"

#include "alloc.h"

#define KEYS 5000

static uint64_t key_of(uint32_t i)
{
	/* Prefix and frame of a stack; also what differs in the upper half alone. */
	return (uint64_t)(i * 7 + 1) << 32 | i / 3;
}

static void numbers_are_dense(void **state)
{
	struct u64_map table = {0};
	uint32_t i, id, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < KEYS; i++) {
			assert_int_equal(u64_map_number(&table, key_of(i), &id), 0);
			assert_int_equal(id, i);
		}
		assert_int_equal(table.count, KEYS);
	}
	for (i = 0; i < KEYS; i++) {
		assert_true(table.keys[i] == key_of(i));
		assert_int_equal(u64_map_get(&table, key_of(i)), i);
	}
	assert_int_equal(u64_map_get(&table, key_of(KEYS)), U64_MAP_NONE);
	u64_map_clear(&table);
}

static void appended_keys_are_found_once_indexed(void **state)
{
	struct u64_map table = {0};
	uint32_t i, id;

	for (i = 0; i < KEYS; i++) {
		assert_int_equal(u64_map_append(&table, key_of(i), &id), 0);
		assert_int_equal(id, i);
	}
	assert_int_equal(u64_map_index(&table), 0);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(u64_map_get(&table, key_of(i)), i);
	assert_int_equal(u64_map_add(&table, key_of(KEYS), &id), 0);
	assert_int_equal(id, KEYS);
	assert_int_equal(u64_map_get(&table, key_of(KEYS)), KEYS);
	u64_map_clear(&table);
}

static void extreme_keys(void **state)
{
	static const uint64_t keys[] = {0, UINT64_MAX, 1ULL << 63, 1, UINT32_MAX, 1ULL << 32};
	struct u64_map table = {0};
	uint32_t i, id;

	for (i = 0; i < 6; i++) {
		assert_int_equal(u64_map_get(&table, keys[i]), U64_MAP_NONE);
		assert_int_equal(u64_map_number(&table, keys[i], &id), 0);
		assert_int_equal(id, i);
	}
	u64_map_clear(&table);
}

static void reset_forgets(void **state)
{
	struct u64_map table = {0};
	uint32_t id;

	u64_map_reset(&table);
	assert_int_equal(u64_map_number(&table, 5, &id), 0);
	assert_int_equal(u64_map_number(&table, 6, &id), 0);
	assert_int_equal(id, 1);
	u64_map_reset(&table);
	assert_int_equal(table.count, 0);
	assert_int_equal(u64_map_get(&table, 5), U64_MAP_NONE);
	assert_int_equal(u64_map_number(&table, 6, &id), 0);
	assert_int_equal(id, 0);
	u64_map_clear(&table);
}

/*
 * A stack is added after its prefix, so its prefix has a smaller number, also when stacks are met
 * again.
 */
static void parents_precede_children(void **state)
{
	struct u64_map table = {0};
	uint32_t leaf, depth, seed = 1;

	for (leaf = 0; leaf < 500; leaf++) {
		uint32_t stack = U64_MAP_NONE;

		for (depth = 0; depth < 20; depth++) {
			seed = seed * 1664525 + 1013904223;
			assert_int_equal(
				u64_map_number(&table, (uint64_t)stack << 32 | seed >> 30, &stack),
				0);
		}
	}
	for (leaf = 0; leaf < table.count; leaf++) {
		uint32_t prefix = (uint32_t)(table.keys[leaf] >> 32);

		assert_true(prefix == U64_MAP_NONE || prefix < leaf);
	}
	assert_true(table.count > 1000 && table.count < 10000);
	u64_map_clear(&table);
}

static void a_failed_add_changes_nothing(void **state)
{
	struct u64_map table = {0};
	uint32_t i, id, failures = 0;
	size_t n;

	for (i = 0; i < 100; i++) {
		for (n = 1;; n++) {
			int err;

			id = 1234;
			alloc_fail_at(n);
			err = u64_map_number(&table, key_of(i), &id);
			if (!alloc_fail_stop()) {
				assert_int_equal(err, 0);
				assert_int_equal(id, i);
				break;
			}
			failures++;
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(id, 1234);
			assert_int_equal(table.count, i);
			assert_int_equal(u64_map_get(&table, key_of(i)), U64_MAP_NONE);
		}
	}
	assert_true(failures >= 8);
	u64_map_clear(&table);
}

/* ---- values ---------------------------------------------------------------------------- */

static uint64_t far_key(uint32_t i)
{
	/* In groups, backwards within them, and far apart. */
	return (uint64_t)(i ^ 7) * (i % 2 ? 1 : 64001);
}

static void values_are_kept(void **state)
{
	struct u64_map map = {0};
	uint32_t i;

	assert_int_equal(u64_map_get(&map, 0), U64_MAP_NONE);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(u64_map_put(&map, far_key(i), i * 3), 0);
	assert_int_equal(map.count, KEYS);
	assert_true(map.slot_count >= map.count * 2);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(u64_map_get(&map, far_key(i)), i * 3);
	assert_int_equal(u64_map_get(&map, 4000000000U), U64_MAP_NONE);
	assert_int_equal(u64_map_put(&map, UINT64_MAX, U64_MAP_NONE - 1), 0);
	assert_int_equal(u64_map_get(&map, UINT64_MAX), U64_MAP_NONE - 1);
	u64_map_reset(&map);
	assert_int_equal(u64_map_get(&map, far_key(1)), U64_MAP_NONE);
	assert_int_equal(u64_map_put(&map, far_key(1), 9), 0);
	assert_int_equal(u64_map_get(&map, far_key(1)), 9);
	u64_map_clear(&map);
	assert_int_equal(u64_map_get(&map, far_key(1)), U64_MAP_NONE);
	assert_null(map.values);
}

/* Addresses of code: pages of it, and offsets of gigabytes. */
static void wide_keys(void **state)
{
	struct u64_map map = {0};
	uint64_t i;

	for (i = 0; i < KEYS; i++)
		assert_int_equal(u64_map_put(&map, i << 40 | i << 12, (uint32_t)i), 0);
	for (i = 0; i < KEYS; i++) {
		assert_int_equal(u64_map_get(&map, i << 40 | i << 12), i);
		assert_int_equal(u64_map_get(&map, (i << 40 | i << 12) + 1), U64_MAP_NONE);
	}
	u64_map_clear(&map);
}

static void a_failed_put_changes_nothing(void **state)
{
	struct u64_map map = {0};
	uint32_t i, failures = 0;
	size_t n;

	for (i = 0; i < 100; i++) {
		for (n = 1;; n++) {
			int err;

			alloc_fail_at(n);
			err = u64_map_put(&map, i, i + 5);
			if (!alloc_fail_stop()) {
				assert_int_equal(err, 0);
				break;
			}
			failures++;
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(map.count, i);
			assert_int_equal(u64_map_get(&map, i), U64_MAP_NONE);
		}
		assert_int_equal(u64_map_get(&map, i), i + 5);
	}
	assert_true(failures >= 10);
	u64_map_clear(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_dense),
		cmocka_unit_test(appended_keys_are_found_once_indexed),
		cmocka_unit_test(extreme_keys),
		cmocka_unit_test(reset_forgets),
		cmocka_unit_test(parents_precede_children),
		cmocka_unit_test(a_failed_add_changes_nothing),
		cmocka_unit_test(values_are_kept),
		cmocka_unit_test(wide_keys),
		cmocka_unit_test(a_failed_put_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
