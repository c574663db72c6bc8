/* SPDX-License-Identifier: BSD-2-Clause */
/* What was put is found, and nothing else, however keys lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/id_map.h"

#include "alloc.h"

#define KEYS 20000

static uint32_t side_by_side(uint32_t i)
{
	return i;
}

static uint32_t backwards(uint32_t i)
{
	return KEYS - 1 - i;
}

/* All are at the same place of their groups. */
static uint32_t one_of_a_group(uint32_t i)
{
	return i * 8 + 3;
}

static uint32_t far_apart(uint32_t i)
{
	return i * 214013 + 7;
}

static void expect_found(uint32_t (*key_of)(uint32_t i))
{
	struct id_map map = {0};
	uint32_t i;

	for (i = 0; i < KEYS; i++) {
		assert_int_equal(id_map_get(&map, key_of(i)), ID_NONE);
		assert_int_equal(id_map_put(&map, key_of(i), i * 3), 0);
	}
	assert_int_equal(map.count, KEYS);
	assert_true(map.slot_count <= 4 * KEYS);
	for (i = 0; i < KEYS; i++)
		assert_int_equal(id_map_get(&map, key_of(i)), i * 3);
	assert_int_equal(id_map_get(&map, 0x7ffffff1), ID_NONE);
	id_map_clear(&map);
	assert_int_equal(id_map_get(&map, key_of(0)), ID_NONE);
}

static void keys_are_found(void **state)
{
	expect_found(side_by_side);
	expect_found(backwards);
	expect_found(one_of_a_group);
	expect_found(far_apart);
}

static int put_some(void *context)
{
	struct id_map map = {0};
	uint32_t i;
	int err = 0;

	for (i = 0; i < 200 && !err; i++)
		err = id_map_put(&map, i * 5, i);
	assert_int_equal(id_map_get(&map, 199 * 5), err ? ID_NONE : 199);
	id_map_clear(&map);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(put_some, NULL) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_found),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
