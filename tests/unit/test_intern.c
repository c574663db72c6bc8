/* SPDX-License-Identifier: BSD-2-Clause */
/* Interned strings: dense numbers, any bytes, texts that stay where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/intern.h"

#include "alloc.h"

#define MANY 20000

static uint32_t add(struct intern *intern, const char *text, size_t length)
{
	uint32_t id = UINT32_MAX;

	assert_int_equal(intern_add(intern, text, length, &id), 0);
	return id;
}

static void assert_text(const struct intern *intern, uint32_t id, const char *text, size_t length)
{
	size_t got_length = SIZE_MAX;
	const char *got = intern_text(intern, id, &got_length);

	assert_int_equal(got_length, length);
	assert_memory_equal(got, text, length);
	assert_int_equal(got[length], '\0');
	assert_ptr_equal(intern_text(intern, id, NULL), got);
}

static void test_numbers_are_dense(void **state)
{
	struct intern *intern;

	assert_int_equal(intern_open(&intern), 0);
	assert_int_equal(intern_count(intern), 0);
	assert_int_equal(add(intern, "malloc", 6), 0);
	assert_int_equal(add(intern, "free", 4), 1);
	assert_int_equal(add(intern, "malloc", 6), 0);
	assert_int_equal(add(intern, "malloc_usable_size", 6), 0);
	assert_int_equal(add(intern, "free", 4), 1);
	assert_int_equal(add(intern, "fre", 3), 2);
	assert_int_equal(intern_count(intern), 3);
	assert_text(intern, 0, "malloc", 6);
	assert_text(intern, 1, "free", 4);
	assert_text(intern, 2, "fre", 3);
	intern_close(intern);
}

/*
 * A table that begins with what another one has: numbers are the same, new ones follow, and neither
 * sees what the other one gets then. (W6: both are looked at.)
 */
static void test_w6_a_copy_goes_on_and_is_independent(void **state)
{
	static const char *const texts[] = {"zero", "one", "two"};
	struct intern *original, *copy;
	uint32_t id;

	assert_int_equal(intern_open(&original), 0);
	assert_int_equal(intern_open(&copy), 0);
	for (id = 0; id < 3; id++)
		assert_int_equal(add(original, texts[id], strlen(texts[id])), id);
	for (id = 0; id < 3; id++) {
		size_t length;
		const char *text = intern_text(original, id, &length);

		assert_int_equal(add(copy, text, length), id);
	}
	assert_int_equal(add(copy, "copied", 6), 3);
	assert_int_equal(add(original, "original", 8), 3);
	assert_int_equal(add(copy, "one", 3), 1);
	assert_text(copy, 3, "copied", 6);
	assert_text(original, 3, "original", 8);
	intern_close(original);
	assert_int_equal(intern_count(copy), 4);
	assert_text(copy, 0, "zero", 4);
	assert_text(copy, 3, "copied", 6);
	intern_close(copy);
}

/* The length counts, not a NUL; all lengths around the eight bytes that are hashed at a time differ. */
static void test_any_bytes(void **state)
{
	static const char zeros[24];
	struct intern *intern;
	size_t length;

	assert_int_equal(intern_open(&intern), 0);
	for (length = 0; length <= sizeof(zeros); length++)
		assert_int_equal(add(intern, zeros, length), length);
	for (length = 0; length <= sizeof(zeros); length++) {
		assert_int_equal(add(intern, zeros, length), length);
		assert_text(intern, (uint32_t)length, zeros, length);
	}
	assert_int_equal(add(intern, "\xff\0\x80", 3), sizeof(zeros) + 1);
	assert_text(intern, sizeof(zeros) + 1, "\xff\0\x80", 3);
	intern_close(intern);
}

static void test_many_strings_stay(void **state)
{
	struct intern *intern;
	const char *first;
	char text[32];
	uint32_t i;

	assert_int_equal(intern_open(&intern), 0);
	for (i = 0; i < MANY; i++) {
		size_t length = (size_t)snprintf(text, sizeof(text), "function_%u", i);

		assert_int_equal(add(intern, text, length), i);
		if (i == 0)
			first = intern_text(intern, 0, NULL);
	}
	assert_int_equal(intern_count(intern), MANY);
	assert_ptr_equal(intern_text(intern, 0, NULL), first);
	for (i = 0; i < MANY; i++) {
		size_t length = (size_t)snprintf(text, sizeof(text), "function_%u", i);

		assert_text(intern, i, text, length);
		assert_int_equal(add(intern, text, length), i);
	}
	intern_close(intern);
}

/* Longer than a block of memory, between short ones. */
static void test_long_string(void **state)
{
	size_t length = 200000;
	struct intern *intern;
	char *text = malloc(length);

	assert_non_null(text);
	memset(text, 'x', length);
	assert_int_equal(intern_open(&intern), 0);
	add(intern, "before", 6);
	assert_int_equal(add(intern, text, length), 1);
	assert_int_equal(add(intern, text, length - 1), 2);
	assert_int_equal(add(intern, "after", 5), 3);
	assert_text(intern, 0, "before", 6);
	assert_text(intern, 1, text, length);
	assert_text(intern, 2, text, length - 1);
	assert_text(intern, 3, "after", 5);
	intern_close(intern);
	free(text);
}

/* A failed add leaves the table as it was, and works when it is tried again. */
static int add_and_retry(struct intern *intern, const char *text, size_t length, uint32_t want)
{
	uint32_t id = 12345;
	int err = intern_add(intern, text, length, &id);

	if (!err) {
		assert_int_equal(id, want);
		return 0;
	}
	assert_int_equal(id, 12345);
	assert_int_equal(intern_count(intern), want);
	assert_int_equal(add(intern, text, length), want);
	return err;
}

static int fill(void *context)
{
	struct intern *intern;
	int err = intern_open(&intern), first_err;
	char text[1000] = "";
	uint32_t i;

	if (err)
		return err;
	for (i = 0, first_err = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%u", i);
		err = add_and_retry(intern, text, sizeof(text), i);
		first_err = first_err ? first_err : err;
	}
	for (i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_text(intern, i, text, sizeof(text));
	}
	intern_close(intern);
	return first_err;
}

static void test_no_memory(void **state)
{
	/* Two to open; five to have room for 100 strings, two for the slots, two blocks. */
	assert_int_equal(alloc_fail_each(fill, NULL), 2 + 5 + 2 + 2);
}

static void test_close_null(void **state)
{
	intern_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_w6_a_copy_goes_on_and_is_independent),
		cmocka_unit_test(test_numbers_are_dense),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_many_strings_stay),
		cmocka_unit_test(test_long_string),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_close_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
