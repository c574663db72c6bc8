/* SPDX-License-Identifier: BSD-2-Clause */
/* Large blocks: aligned, usable to their last byte, and as other memory for realloc() and free(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/large.h"

#include "alloc.h"

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

static void test_small_is_malloc(void **state)
{
	size_t calls = alloc_count();
	uint8_t *memory = large_alloc(1000);

	assert_non_null(memory);
	assert_int_equal(alloc_count(), calls + 1);
	memset(memory, 1, 1000);
	free(memory);
	alloc_fail_at(1);
	assert_null(large_alloc(1000));
	assert_true(alloc_fail_stop());
}

static void test_large_is_aligned(void **state)
{
	const size_t bytes = HUGE_PAGE_BYTES + 5;
	uint8_t *memory = large_alloc(bytes);

	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % HUGE_PAGE_BYTES, 0);
	memset(memory, 7, bytes);
	memory = realloc(memory, 2 * bytes);
	assert_non_null(memory);
	assert_int_equal(memory[bytes - 1], 7);
	memset(memory, 8, 2 * bytes);
	memory = realloc(memory, 100);
	assert_non_null(memory);
	assert_int_equal(memory[99], 8);
	free(memory);
}

static void test_too_large(void **state)
{
	assert_null(large_alloc(SIZE_MAX));
	assert_null(large_alloc(SIZE_MAX - HUGE_PAGE_BYTES + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_is_malloc),
		cmocka_unit_test(test_large_is_aligned),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
