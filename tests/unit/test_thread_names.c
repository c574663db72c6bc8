/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of threads against patterns: as fnmatch(3) has it, for all short names and patterns, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fnmatch.h>

#include "capture/thread_names.h"

static int matches(const char *list, const char *name)
{
	struct gb_names names;
	char padded[GB_NAME_BYTES] = "";

	assert_int_equal(thread_names_compile(&names, list), 0);
	memcpy(padded, name, strnlen(name, sizeof(padded)));
	return gb_names_match(&names, padded);
}

static void of_a_list_one_will_do(void **state)
{
	(void)state;
	assert_true(matches("worker*,io-?", "worker"));
	assert_true(matches("worker*,io-?", "worker 17"));
	assert_true(matches("worker*,io-?", "io-7"));
	assert_false(matches("worker*,io-?", "io-17"));
	assert_false(matches("worker*,io-?", "io-"));
	assert_false(matches("worker*,io-?", "a worker"));
	/* The end of one is not the beginning of the next. */
	assert_false(matches("ab,cd", "abcd"));
	assert_false(matches("a*,b", "b2"));
	assert_true(matches(",,a,", "a"));
}

static void all_bytes_count(void **state)
{
	(void)state;
	assert_true(matches("a23456789012345", "a23456789012345"));
	assert_true(matches("*45", "a23456789012345"));
	assert_true(matches("*6", "a234567890123456")); /* without a NUL */
	assert_true(matches("caf\xc3\xa9", "caf\xc3\xa9"));
	assert_true(matches("*", "x") && matches("**", "x"));
	assert_true(matches("*", ""));
	assert_false(matches("?", ""));
}

/* The `number`th word of up to four of the letters. */
static void make_word(unsigned int number, const char *letters, char out[5])
{
	size_t i = 0, count = strlen(letters);

	for (; number && i < 4; number = (number - 1) / (unsigned int)count)
		out[i++] = letters[(number - 1) % count];
	out[i] = '\0';
}

static void as_fnmatch(void **state)
{
	char pattern[5], name[5];
	unsigned int p, n;

	(void)state;
	for (p = 1; p < 341; p++) {
		make_word(p, "ab?*", pattern);
		for (n = 0; n < 31; n++) {
			make_word(n, "ab", name);
			assert_int_equal(matches(pattern, name), !fnmatch(pattern, name, 0));
		}
	}
}

static void what_is_refused(void **state)
{
	struct gb_names names;
	char list[80];

	(void)state;
	assert_int_equal(thread_names_compile(&names, ""), -EINVAL);
	assert_int_equal(thread_names_compile(&names, ",,"), -EINVAL);
	assert_int_equal(thread_names_compile(&names, "a234567890123456"), -ENAMETOOLONG);
	assert_int_equal(thread_names_compile(&names, "a23456789012345*"), 0);
	memset(list, 'a', sizeof(list));
	for (size_t i = 7; i < sizeof(list); i += 8)
		list[i] = ',';
	list[63] = '\0';
	assert_int_equal(thread_names_compile(&names, list), 0);
	list[63] = ',';
	list[65] = '\0';
	assert_int_equal(thread_names_compile(&names, list), -E2BIG);
	list[7 * 8 + 3] = 'a';
	list[63] = 'a';
	list[64] = '\0';
	assert_int_equal(thread_names_compile(&names, list), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_list_one_will_do),
		cmocka_unit_test(all_bytes_count),
		cmocka_unit_test(as_fnmatch),
		cmocka_unit_test(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
