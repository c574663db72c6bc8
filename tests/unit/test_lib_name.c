/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program and its libraries are called, by what is known of how it was started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/lib_name.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

static struct object program = {.path = (char *)"/usr/bin/redis-check-rdb"};
static struct object library = {.path = (char *)"/usr/lib/libc.so.6", .number = 1};

/* The name of the program whose main thread has this name, and which has these arguments. */
static const char *name_of(const char *thread, const char *cmdline)
{
	static char text[20];
	struct process process = {.cmdline = (char *)cmdline, .space = {.program = &program}};

	strcpy(process.name, thread);
	assert_string_equal(lib_name(&process, &library, text, sizeof(text)), "libc.so.6");
	return lib_name(&process, &program, text, sizeof(text));
}

static void test_started_under_another_name(void **state)
{
	assert_string_equal(name_of("redis-server", "redis-server --port 0"), "redis-server");
	assert_string_equal(name_of("redis-server", "/usr/bin/redis-server *:6379"),
			    "redis-server");
	assert_string_equal(name_of("redis-server", "redis-server"), "redis-server");
	/* Thread names have 15 bytes. */
	assert_string_equal(name_of("redis-server-of", "./redis-server-of-7"), "redis-server-of-7");
}

/* The arguments say one thing, the thread's name another: a script, a title, a thread that was renamed. */
static void test_not_known(void **state)
{
	static const char *const others[][2] = {
		{"tool.py", "/usr/bin/python3 ./tool.py"},
		{"sshd", "sshd: root@pts/0"},
		{"worker", "redis-server"},
		{"redis", "redis-server"},
		{"redis-server", "redis"},
		{"", ""},
		{"", "/usr/bin/"},
		{"redis-server-of", "redis-server-o"},
		{"redis-server-to", "redis-server-to-long-for-it"},
	};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_string_equal(name_of(others[i][0], others[i][1]), "redis-check-rdb");
	assert_string_equal(name_of("redis-server", NULL), "redis-check-rdb");
}

static void test_nothing_mapped(void **state)
{
	const struct process process = {.name = "a", .cmdline = (char *)"a"};
	char text[20];

	assert_string_equal(lib_name(&process, &program, text, sizeof(text)), "redis-check-rdb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_started_under_another_name),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_nothing_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
