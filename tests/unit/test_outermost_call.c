/* SPDX-License-Identifier: BSD-2-Clause */
/* What calls main or a thread's function in a libc without unwind information, by sight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unwind/arch.h"

#include "alloc.h"

/* From musl: mov %r12, %rsi; call *%rbx; mov %eax, %edi; call exit; a no-op of 10 bytes. */
static const uint8_t musl[] = {0x4c, 0x89, 0xe6, 0xff, 0xd3, 0x89, 0xc7, 0xe8, 0x9f, 0xf9, 0xff,
			       0xff, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};

static void test_found(void **state)
{
	size_t at = 0, length = 0;

	assert_true(machine_find_outermost_call(musl, sizeof(musl), &at, &length));
	assert_int_equal(at, 3);
	assert_int_equal(length, 9);
	assert_true(machine_find_outermost_call(musl + 3, 11, &at, &length));
	assert_int_equal(at, 0);
	assert_int_equal(length, 9);
}

static void test_register_with_prefix(void **state)
{
	static const uint8_t code[] = {0x90, 0x41, 0xff, 0xd4, 0x89, 0xc7, 0xe8,
				       1,    2,    3,    4,    0xcc, 0xcc};
	size_t at = 0, length = 0;

	assert_true(machine_find_outermost_call(code, sizeof(code), &at, &length));
	assert_int_equal(at, 1);
	assert_int_equal(length, 10);
}

/* A thread's function, from musl: pop %rdi; call *%r9; mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall; hlt. */
static void test_thread(void **state)
{
	static const uint8_t code[] = {0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31,
				       0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4};
	size_t at = 0, length = 0;

	assert_true(machine_find_outermost_call(code, sizeof(code), &at, &length));
	assert_int_equal(at, 1);
	assert_int_equal(length, 11);
	assert_true(machine_find_outermost_call(code + 1, 11, &at, &length));
	assert_false(machine_find_outermost_call(code + 1, 10, &at, &length));
	assert_false(machine_find_outermost_call(code + 3, 10, &at, &length));
}

/* Where the bytes end, and what comes too late to be the second of two. */
static void test_cut(void **state)
{
	size_t at, length, size;

	for (size = 0; size < 14; size++)
		assert_false(machine_find_outermost_call(musl, size, &at, &length));
	assert_true(machine_find_outermost_call(musl, 14, &at, &length));
	assert_false(machine_find_outermost_call(musl + 4, sizeof(musl) - 4, &at, &length));
}

/* A function that returns, and a direct call. */
static void test_others(void **state)
{
	static const uint8_t goes_on[] = {0xff, 0xd3, 0x89, 0xc7, 0xe8, 1,   2,
					  3,    4,    0x48, 0x83, 0xc4, 0x08};
	static const uint8_t direct[] = {0xe8, 1, 2, 3, 4, 0x89, 0xc7,
					 0xe8, 1, 2, 3, 4, 0x90, 0x90};
	size_t at, length;

	assert_false(machine_find_outermost_call(goes_on, sizeof(goes_on), &at, &length));
	assert_false(machine_find_outermost_call(direct, sizeof(direct), &at, &length));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),  cmocka_unit_test(test_register_with_prefix),
		cmocka_unit_test(test_thread), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
