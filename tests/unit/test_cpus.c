/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of CPUs, with and without holes, and what is no list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "capture/cpus.h"

#include "alloc.h"

static void assert_has(const char *list, const unsigned int *cpus, size_t count)
{
	struct cpu_set set;
	unsigned int cpu;
	size_t i = 0;

	memset(&set, 0xff, sizeof(set));
	assert_int_equal(cpus_parse(list, &set), 0);
	assert_int_equal(cpus_count(&set), count);
	for (cpu = 0; cpu < CPUS_MAX + 10; cpu++) {
		if (i < count && cpus[i] == cpu) {
			assert_true(cpus_has(&set, cpu));
			i++;
		} else {
			assert_false(cpus_has(&set, cpu));
		}
	}
}

#define ASSERT_HAS(list, ...)                                                                      \
	assert_has(list, (const unsigned int[]){__VA_ARGS__},                                      \
		   sizeof((const unsigned int[]){__VA_ARGS__}) / sizeof(unsigned int))

static void test_lists(void **state)
{
	ASSERT_HAS("0\n", 0);
	ASSERT_HAS("0", 0);
	ASSERT_HAS("5", 5);
	ASSERT_HAS("0-3\n", 0, 1, 2, 3);
	ASSERT_HAS("0-3,7\n", 0, 1, 2, 3, 7);
	ASSERT_HAS("0,2,4-5,15-16", 0, 2, 4, 5, 15, 16);
	ASSERT_HAS("7-9,8,3", 3, 7, 8, 9);
	ASSERT_HAS("4-4", 4);
	ASSERT_HAS("8191", 8191);
	assert_has("", NULL, 0);
	assert_has("\n", NULL, 0);
}

static void test_all(void **state)
{
	struct cpu_set set;

	assert_int_equal(cpus_parse("0-8191", &set), 0);
	assert_int_equal(cpus_count(&set), CPUS_MAX);
	assert_true(cpus_has(&set, CPUS_MAX - 1));
	assert_false(cpus_has(&set, CPUS_MAX));
	assert_false(cpus_has(&set, (unsigned int)-1));
}

static void test_bad_lists(void **state)
{
	static const char *const lists[] = {
		"x",
		"-",
		"-3",
		"3-",
		"3-1",
		"1-2-3",
		",",
		",1",
		"1,,2",
		" 1",
		"1 ",
		"1;2",
		"+1",
		"0x1",
		"1-x",
		"1- 2",
		"8192",
		"0-8192",
		"99999999999999999999",
		"0-99999999999999999999",
		"1\r\n",
	};
	struct cpu_set set;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (cpus_parse(lists[i], &set) != -EINVAL)
			fail_msg("taken: '%s'", lists[i]);
}

static void test_online(void **state)
{
	struct cpu_set set;

	assert_int_equal(cpus_online(&set), 0);
	assert_int_equal(cpus_count(&set), sysconf(_SC_NPROCESSORS_ONLN));
}

static int read_online(void *context)
{
	struct cpu_set set;

	return cpus_online(&set);
}

static void test_stolen(void **state)
{
	assert_int_equal(cpus_parse_stolen("cpu  1 2 3 4 5 6 7 89 10 11\ncpu0 1 2 3 4 5 6 7 8\n"),
			 89);
	assert_int_equal(cpus_parse_stolen("cpu  1 2 3 4 5 6 7 89"), 89);
	assert_int_equal(cpus_parse_stolen("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7 8\n"), 0);
	assert_int_equal(cpus_parse_stolen(""), 0);
	assert_true(cpus_stolen_ns() <= cpus_stolen_ns());
}

static void test_no_memory(void **state)
{
	assert_int_equal(alloc_fail_each(read_online, NULL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),     cmocka_unit_test(test_all),
		cmocka_unit_test(test_bad_lists), cmocka_unit_test(test_online),
		cmocka_unit_test(test_stolen),    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
