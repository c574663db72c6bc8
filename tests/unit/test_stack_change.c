/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that change to another stack, and _init, by sight. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/arch.h"

#include "alloc.h"

struct sample {
	uint8_t code[8];
	size_t length;
};

/* A copy of exactly that size, after two no-ops and before one. */
static size_t find(const struct sample *sample)
{
	uint8_t code[11] = {0x90, 0x90};

	memcpy(code + 2, sample->code, sample->length);
	code[2 + sample->length] = 0x90;
	return machine_find_stack_change(code, sample->length + 3);
}

static void test_changes(void **state)
{
	static const struct sample samples[] = {
		{{0x48, 0x8b, 0x60, 0x38}, 4}, /* mov 0x38(%rax), %rsp */
		{{0x49, 0x8b, 0x66, 0x38}, 4}, /* mov 0x38(%r14), %rsp */
		{{0x48, 0x8b, 0x64, 0x24, 0x08}, 5}, /* mov 8(%rsp), %rsp */
		{{0x48, 0x8b, 0x24, 0x24}, 4}, /* mov (%rsp), %rsp */
		{{0x48, 0x8b, 0xa0, 1, 2, 0, 0}, 7}, /* mov 0x201(%rax), %rsp */
		{{0x48, 0x8b, 0x25, 1, 2, 0, 0}, 7}, /* mov 0x201(%rip), %rsp */
		{{0x48, 0x8b, 0xa4, 0x24, 1, 2, 0, 0}, 8}, /* mov 0x201(%rsp), %rsp */
		{{0x48, 0x8b, 0xe3}, 3}, /* mov %rbx, %rsp, the other way to write it */
		{{0x48, 0x89, 0xdc}, 3}, /* mov %rbx, %rsp */
		{{0x4c, 0x89, 0xe4}, 3}, /* mov %r12, %rsp */
		{{0x48, 0x8d, 0x65, 0xf8}, 4}, /* lea -8(%rbp), %rsp */
		{{0x48, 0x83, 0xe4, 0xf0}, 4}, /* and $-16, %rsp */
	};
	size_t i;

	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		assert_int_equal(find(&samples[i]), 2 + samples[i].length);
}

static void test_others(void **state)
{
	static const struct sample samples[] = {
		{{0x48, 0x8b, 0x1c, 0x24}, 4}, /* mov (%rsp), %rbx */
		{{0x4c, 0x8b, 0x20}, 3}, /* mov (%rax), %r12 */
		{{0x8b, 0x60, 0x38}, 3}, /* mov 0x38(%rax), %esp */
		{{0x48, 0x89, 0xe2}, 3}, /* mov %rsp, %rdx */
		{{0x49, 0x89, 0xdc}, 3}, /* mov %rbx, %r12 */
		{{0x48, 0x89, 0x24, 0x24}, 4}, /* mov %rsp, (%rsp) */
		{{0x48, 0x8d, 0x6c, 0x24, 0x10}, 5}, /* lea 16(%rsp), %rbp */
		{{0x48, 0x83, 0xec, 0x28}, 4}, /* sub $40, %rsp */
		{{0x48, 0x83, 0xc4, 0x28}, 4}, /* add $40, %rsp */
		{{0x49, 0x83, 0xe4, 0xf0}, 4}, /* and $-16, %r12 */
	};
	size_t i;

	for (i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		assert_int_equal(find(&samples[i]), samples[i].length + 3);
}

/* Where the bytes end. */
static void test_cut(void **state)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x60, 0x38};
	size_t size;

	for (size = 0; size <= sizeof(code); size++)
		assert_int_equal(machine_find_stack_change(code, size), size);
}

static const uint8_t init[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05, 1,
			       2,    0,    0,    0x48, 0x85, 0xc0, 0x74, 0x02,
			       0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
static const uint8_t endbr_fini[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec,
				     0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};
static const uint8_t musl[] = {0x50, 0x58, 0xc3};

static void assert_init(const uint8_t *code, size_t size, size_t pushed, size_t popped)
{
	size_t first = 0, last = 0;

	assert_true(machine_is_init(code, size, &first, &last));
	assert_int_equal(first, pushed);
	assert_int_equal(last, popped);
}

static void test_init(void **state)
{
	assert_init(init, sizeof(init), 4, 22);
	assert_init(endbr_fini, sizeof(endbr_fini), 8, 12);
	assert_init(musl, sizeof(musl), 1, 2);
}

static void test_no_init(void **state)
{
	static const uint8_t mixed[] = {0x50, 0x48, 0x83, 0xc4, 0x08, 0xc3};
	static const uint8_t frame[] = {0x55, 0x58, 0xc3};
	uint8_t copy[sizeof(init) + 1];
	size_t size, first, last;

	for (size = 0; size < sizeof(init); size++)
		assert_false(machine_is_init(init, size, &first, &last));
	for (size = 0; size < sizeof(endbr_fini); size++)
		assert_false(machine_is_init(endbr_fini, size, &first, &last));
	memcpy(copy, init, sizeof(init));
	copy[sizeof(init)] = 0x90;
	assert_false(machine_is_init(copy, sizeof(copy), &first, &last));
	assert_false(machine_is_init(mixed, sizeof(mixed), &first, &last));
	assert_false(machine_is_init(frame, sizeof(frame), &first, &last));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes), cmocka_unit_test(test_others),
		cmocka_unit_test(test_cut),     cmocka_unit_test(test_init),
		cmocka_unit_test(test_no_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
