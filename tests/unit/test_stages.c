/* SPDX-License-Identifier: BSD-2-Clause */
/* Stages: times add up, memory is ours, and what cannot be noted is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/stages.h"

#include "alloc.h"

static uint64_t fake_now;

static uint64_t fake_clock(void)
{
	return fake_now;
}

static void test_times(void **state)
{
	struct stages stages = {.now_ns = fake_clock};

	fake_now = NS_PER_SEC;
	stages_end(&stages);
	assert_null(stages_enter(&stages, "a"));
	fake_now += 5;
	assert_string_equal(stages_enter(&stages, "b"), "a");
	fake_now += 70;
	assert_string_equal(stages_enter(&stages, "a"), "b");
	fake_now += 900;
	stages_end(&stages);
	fake_now += 10000; /* nobody's */
	stages_end(&stages);
	assert_null(stages_enter(&stages, "c"));
	fake_now += 1;
	stages_end(&stages);
	assert_int_equal(stages.count, 3);
	assert_string_equal(stages.items[0].name, "a");
	assert_int_equal(stages.items[0].duration_ns, 905);
	assert_string_equal(stages.items[1].name, "b");
	assert_int_equal(stages.items[1].duration_ns, 70);
	assert_string_equal(stages.items[2].name, "c");
	assert_int_equal(stages.items[2].duration_ns, 1);
}

static void test_memory(void **state)
{
	const size_t bytes = 32 << 20;
	struct stages stages = {.now_ns = fake_clock};
	char *memory;

	fake_now = NS_PER_SEC;
	stages_enter(&stages, "before");
	stages_enter(&stages, "during");
	memory = malloc(bytes);
	assert_non_null(memory);
	memset(memory, 1, bytes);
	fake_now += NS_PER_MS;
	stages_enter(&stages, "after");
	free(memory);
	fake_now += NS_PER_MS - 1; /* too soon to look again */
	stages_end(&stages);
	assert_true(stages.items[0].rss_bytes > 0);
	assert_true(stages.items[0].peak_bytes >= stages.items[0].rss_bytes);
	assert_true(stages.items[1].rss_bytes > stages.items[0].rss_bytes + bytes / 2);
	assert_true(stages.items[1].peak_bytes >= stages.items[1].rss_bytes);
	assert_int_equal(stages.items[2].rss_bytes, stages.items[1].rss_bytes);
	assert_int_equal(stages.items[2].peak_bytes, stages.items[1].peak_bytes);
}

static void test_too_many(void **state)
{
	static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
	struct stages stages = {.now_ns = fake_clock};
	size_t i;

	for (i = 0; i < STAGES_MAX; i++) {
		stages_enter(&stages, names[i]);
		fake_now++;
	}
	assert_string_equal(stages_enter(&stages, names[STAGES_MAX]), names[STAGES_MAX - 1]);
	fake_now += 100;
	assert_null(stages_enter(&stages, names[0]));
	fake_now++;
	stages_end(&stages);
	assert_int_equal(stages.count, STAGES_MAX);
	assert_int_equal(stages.items[0].duration_ns, 2);
	for (i = 1; i < STAGES_MAX; i++)
		assert_int_equal(stages.items[i].duration_ns, 1);
}

static void test_null(void **state)
{
	assert_null(stages_enter(NULL, "a"));
	stages_end(NULL);
}

/* Times do not need memory; what is used of it is then not known. */
static void test_no_memory(void **state)
{
	size_t n;

	for (n = 1;; n++) {
		struct stages stages = {.now_ns = fake_clock};

		fake_now = NS_PER_SEC;
		stages_enter(&stages, "a");
		fake_now += 3;
		alloc_fail_at(n);
		stages_end(&stages);
		assert_int_equal(stages.items[0].duration_ns, 3);
		if (!alloc_fail_stop()) {
			assert_true(stages.items[0].rss_bytes > 0);
			break;
		}
		assert_int_equal(stages.items[0].rss_bytes, 0);
		assert_int_equal(stages.items[0].peak_bytes, 0);
	}
	assert_true(n > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),     cmocka_unit_test(test_memory),
		cmocka_unit_test(test_too_many),  cmocka_unit_test(test_null),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
