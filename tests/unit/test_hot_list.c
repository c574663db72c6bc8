/* SPDX-License-Identifier: BSD-2-Clause */
/* test_hot_list.c - sums over a profile, by function, thread and process; and the text made of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "format/folded.h"
#include "format/hot_list.h"
#include "format/report.h"
#include "stack_fixture.h"

static const struct hot_scope everything = {STACK_NONE, STACK_NONE};

static void expect_sum(const struct hot_sum *sum, uint64_t samples, uint64_t cpu_ns)
{
	assert_int_equal(sum->samples, samples);
	assert_int_equal(sum->cpu_ns, cpu_ns);
	assert_int_equal(sum->wall_ns, samples * FIXTURE_INTERVAL_NS);
}

static uint32_t function_of(const struct stack_fixture *fixture, uint32_t stack)
{
	return stack_profile_stack(fixture->profile, stack).function;
}

static void test_functions(void **state)
{
	struct stack_fixture fixture;
	struct hot_list list = {0};

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(hot_list_make(&list, fixture.profile, HOT_FUNCTION, &everything), 0);
	expect_sum(&list.sum, FIXTURE_SAMPLES, FIXTURE_CPU_NS);
	assert_int_equal(list.no_stack_cpu_ns, 500000);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.items[0].key, function_of(&fixture, fixture.work));
	expect_sum(&list.items[0].self, 15, 15000400);
	/* Recursion counts once: what has it twice on the stack is in its self already. */
	expect_sum(&list.items[0].total, 15, 15000400);
	assert_int_equal(list.items[1].key, function_of(&fixture, fixture.kernel));
	expect_sum(&list.items[1].self, 5, 5000000);
	assert_int_equal(list.items[2].key, function_of(&fixture, fixture.main));
	expect_sum(&list.items[2].self, 1, 1000000);
	expect_sum(&list.items[2].total, 21, 21000400);
	assert_int_equal(list.items[3].key, function_of(&fixture, STACK_OF_NONE));
	expect_sum(&list.items[3].total, 0, 500000);
	hot_list_clear(&list);
	stack_profile_close(fixture.profile);
}

static void test_scopes(void **state)
{
	struct stack_fixture fixture;
	const struct hot_scope process = {0, STACK_NONE}, thread = {STACK_NONE, 1};
	struct hot_list list = {0};

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(hot_list_make(&list, fixture.profile, HOT_THREAD, &process), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].key, 1);
	expect_sum(&list.items[0].self, 9, 9000000);
	assert_int_equal(list.items[1].key, 0);
	expect_sum(&list.items[1].total, 6, 6500400);
	expect_sum(&list.sum, 15, 15500400);
	hot_list_clear(&list);
	assert_int_equal(hot_list_make(&list, fixture.profile, HOT_FUNCTION, &thread), 0);
	assert_int_equal(list.count, 3);
	assert_int_equal(list.no_stack_cpu_ns, 0);
	expect_sum(&list.sum, 9, 9000000);
	hot_list_clear(&list);
	assert_int_equal(hot_list_make(&list, fixture.profile, HOT_PROCESS, &everything), 0);
	assert_int_equal(list.count, 2);
	expect_sum(&list.items[0].self, 15, 15500400);
	expect_sum(&list.items[1].self, 6, 6000000);
	hot_list_clear(&list);
	stack_profile_close(fixture.profile);
}

static int fold_samples(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, false, out);
}

static int fold_cpu(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, true, out);
}

static void expect_text(const struct stack_profile *profile,
			int (*write)(const struct stack_profile *profile, FILE *out),
			const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(write(profile, out), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_folded(void **state)
{
	struct stack_fixture fixture;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	expect_text(fixture.profile, fold_samples,
		    "app;main thread;main (in app) 1\n"
		    "app;main thread;main (in app);work (in app) 2\n"
		    "app;main thread;main (in app);work (in app);work (in app) 3\n"
		    "app;worker;main (in app);work (in app) 10\n"
		    "app;worker;main (in app);work (in [kernel]) 5\n");
	expect_text(fixture.profile, fold_cpu,
		    "app;main thread;(no stack) 500\n"
		    "app;main thread;main (in app) 1000\n"
		    "app;main thread;main (in app);work (in app) 2000\n"
		    "app;main thread;main (in app);work (in app);work (in app) 3000\n"
		    "app;worker;main (in app);work (in app) 10000\n"
		    "app;worker;main (in app);work (in [kernel]) 5000\n");
	stack_profile_close(fixture.profile);
}

/* Names must not end a field or a line. */
static void test_folded_names(void **state)
{
	struct stack_fixture fixture = {0};

	(void)state;
	assert_int_equal(stack_profile_open(&fixture.profile), 0);
	fixture_source(&fixture);
	fixture_process(&fixture, "1", NAN);
	fixture_thread(&fixture, "a;b\nc", "1");
	fixture_count(&fixture, fixture_stack(&fixture, STACK_NONE, "f;g\x1b (in l;m)"), 1, 0);
	fixture_end_thread(&fixture);
	assert_int_equal(fixture.error, 0);
	expect_text(fixture.profile, fold_samples, "app;a:b?c;f:g? (in l:m) 1\n");
	expect_text(fixture.profile, fold_cpu, "");
	stack_profile_close(fixture.profile);
}

static int report_functions(const struct stack_profile *profile, FILE *out)
{
	const struct report_options options = {.by = HOT_FUNCTION, .top = 3};

	return report_write(profile, &options, out);
}

static int report_threads(const struct stack_profile *profile, FILE *out)
{
	const struct report_options options = {.by = HOT_THREAD, .part = REPORT_EACH_PROCESS};

	return report_write(profile, &options, out);
}

#define HEAD                                                                                       \
	"file:      app.json\n"                                                                    \
	"profiled:  app, 2 processes, 3 threads\n"                                                 \
	"recorded:  2001-09-09 01:46:40 UTC, 0.044 s, a sample every 2.000 ms\n"                   \
	"lost:      1 samples, 2 events; 3 samples overwritten\n"                                  \
	"missed:    5 timer ticks did not come in time (0.5 %)\n"                                  \
	"truncated: 5 of 20 user stacks (25.0 %)\n"                                                \
	"samples:   21, 42.0 ms wall, 21.5 ms CPU (0.5 ms of it without a stack)\n"                \
	"\n"

static void test_report(void **state)
{
	struct stack_fixture fixture;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	expect_text(
		fixture.profile, report_functions,
		HEAD
		"self  self%  wall ms  CPU ms  total  total%  wall ms  CPU ms  function\n"
		"  15   71.4     30.0    15.0     15    71.4     30.0    15.0  work (in app)\n"
		"   5   23.8     10.0     5.0      5    23.8     10.0     5.0  work (in [kernel])\n"
		"   1    4.8      2.0     1.0     21   100.0     42.0    21.0  main (in app)\n"
		"(1 more)\n");
	expect_text(
		fixture.profile, report_threads,
		HEAD
		"process:   app (pid 42)\n"
		"samples:   15, 30.0 ms wall, 15.5 ms CPU (0.5 ms of it without a stack)\n"
		"\n"
		"samples     %  wall ms  CPU ms  from ms  to ms  thread\n"
		"      9  60.0     18.0     9.0      1.5      -  worker (tid 43) of app (pid 42)\n"
		"      6  40.0     12.0     6.5      1.5      -  main thread (tid 42) of app (pid "
		"42)\n"
		"\n"
		"process:   app (pid 42.1)\n"
		"samples:   6, 12.0 ms wall, 6.0 ms CPU (0.0 ms of it without a stack)\n"
		"\n"
		"samples      %  wall ms  CPU ms  from ms  to ms  thread\n"
		"      6  100.0     12.0     6.0      1.5      -  worker (tid 44) of app (pid "
		"42.1)\n");
	stack_profile_close(fixture.profile);
}

static void test_empty(void **state)
{
	struct stack_profile *profile;

	(void)state;
	assert_int_equal(stack_profile_open(&profile), 0);
	expect_text(profile, fold_samples, "");
	expect_text(profile, report_functions,
		    "samples:   0, 0.0 ms wall, 0.0 ms CPU (0.0 ms of it without a stack)\n\n"
		    "self  self%  wall ms  CPU ms  total  total%  wall ms  CPU ms  function\n");
	stack_profile_close(profile);
}

static void test_full_disk(void **state)
{
	struct stack_fixture fixture;
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	assert_int_equal(fixture_open(&fixture), 0);
	assert_int_equal(report_functions(fixture.profile, full), -ENOSPC);
	fclose(full);
	full = fopen("/dev/full", "w");
	assert_int_equal(fold_samples(fixture.profile, full), -ENOSPC);
	fclose(full);
	stack_profile_close(fixture.profile);
}

static int attempt(void *context)
{
	struct stack_fixture *fixture = context;
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");
	int err;

	assert_non_null(out);
	err = report_functions(fixture->profile, out);
	if (!err)
		err = report_threads(fixture->profile, out);
	if (!err)
		err = fold_cpu(fixture->profile, out);
	fclose(out);
	return err;
}

static void test_no_memory(void **state)
{
	struct stack_fixture fixture;

	(void)state;
	assert_int_equal(fixture_open(&fixture), 0);
	assert_true(alloc_fail_each(attempt, &fixture) >= 8);
	stack_profile_close(fixture.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_folded),    cmocka_unit_test(test_folded_names),
		cmocka_unit_test(test_report),    cmocka_unit_test(test_empty),
		cmocka_unit_test(test_full_disk), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
