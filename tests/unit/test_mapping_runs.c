/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of the kernel's array of mappings: how long, how soon used again, and when there are no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>

#include <linux/types.h>

#include "capture/mapping_runs.h"
#include "geckobpf_abi.h"

#include "alloc.h"

#define SECOND_NS 1000000000ULL

static struct mapping_runs runs;

static int close_runs(void **state)
{
	mapping_runs_close(&runs);
	return 0;
}

static struct mapping_run take(size_t count, uint64_t now_ns)
{
	struct mapping_run run;

	assert_int_equal(mapping_runs_take(&runs, count, now_ns, &run), 0);
	return run;
}

static void test_sizes(void **state)
{
	assert_int_equal(take(0, 0).first, 0);
	assert_int_equal(take(16, 0).first, 16);
	assert_int_equal(take(17, 0).first, 32);
	assert_int_equal(take(1, 0).first, 64);
	assert_int_equal(take(65535, 0).first, 80);
	assert_int_equal(runs.top, 80 + 65536);
}

static void test_used_again(void **state)
{
	struct mapping_run first = take(5, 0), second = take(5, 0);

	mapping_runs_give(&runs, &first, 7);
	mapping_runs_give(&runs, &second, 9);
	assert_int_equal(take(5, 6 + SECOND_NS).first, 32);
	assert_int_equal(take(17, 7 + SECOND_NS).first, 48); /* of another size */
	assert_int_equal(take(5, 7 + SECOND_NS).first, first.first);
	assert_int_equal(take(5, 7 + SECOND_NS).first, 80);
	assert_int_equal(take(16, 9 + SECOND_NS).first, second.first);
}

static void test_full(void **state)
{
	struct mapping_run run = {.first = 77};
	int i;

	assert_int_equal(mapping_runs_take(&runs, 65536, 0, &run), -ENOSPC);
	for (i = 0; i < GB_MAX_MAPPINGS / 65536 - 1; i++)
		(void)take(65535, 0);
	assert_int_equal(mapping_runs_take(&runs, 65535, 0, &run), -ENOSPC);
	assert_int_equal(run.first, 77);
	(void)take(32768, 0);
	assert_int_equal(mapping_runs_take(&runs, 16385, 0, &run), -ENOSPC);
	/* Those of the usual sizes have what is left to themselves. */
	for (i = 0; i < 32; i++)
		(void)take(1024, 0);
	assert_int_equal(mapping_runs_take(&runs, 1, 0, &run), -ENOSPC);
	assert_int_equal(runs.top, GB_MAX_MAPPINGS);
}

/* What cannot be remembered is lost, and nothing else. */
static void test_no_memory(void **state)
{
	struct mapping_run run = take(1, 0);

	alloc_fail_at(1);
	mapping_runs_give(&runs, &run, 0);
	alloc_fail_at(0);
	assert_int_equal(take(1, 2 * SECOND_NS).first, 16);
}

#define FRESH(test) cmocka_unit_test_teardown(test, close_runs)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(test_sizes),
		FRESH(test_used_again),
		FRESH(test_full),
		FRESH(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
