/* SPDX-License-Identifier: BSD-2-Clause */
/* test_epoch.c - what is remembered of threads, and forgotten at once. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "alloc.h"
#include "buffer/epoch.h"
#include "buffer/profile_buffer.h"

static void assert_new(const struct epoch *epoch, uint32_t thread)
{
	assert_int_equal(epoch->thread->thread, thread);
	assert_int_equal(epoch->thread->time_ns, epoch->time_ns);
	assert_int_equal(epoch->thread->stack, STACK_NODE_NONE);
	assert_int_equal(epoch->thread->user_end, 0);
	assert_false(epoch->thread->is_known);
}

static void threads_keep_their_values(void **state)
{
	struct epoch epoch = {0};
	uint32_t n;

	epoch_restart(&epoch, 7);
	assert_int_equal(epoch.period_ns, 7);
	epoch.time_ns = 5001;
	for (n = 0; n < 500; n++) {
		assert_int_equal(epoch_enter_thread(&epoch, n * 0x10001), 0);
		assert_new(&epoch, n * 0x10001);
		assert_int_equal(epoch.thread->wait_us, 6);
		epoch.thread->stack = n;
	}
	for (n = 0; n < 500; n++) {
		assert_int_equal(epoch_enter_thread(&epoch, n * 0x10001), 0);
		assert_int_equal(epoch.thread->stack, n);
	}
	epoch_restart(&epoch, 8);
	assert_null(epoch.thread);
	assert_int_equal(epoch.time_ns, 0);
	for (n = 0; n < 500; n++) {
		assert_int_equal(epoch_enter_thread(&epoch, n * 0x10001), 0);
		assert_new(&epoch, n * 0x10001);
	}
	epoch_clear(&epoch);
}

static void epochs_start_over_safely(void **state)
{
	struct epoch epoch = {0};

	epoch_restart(&epoch, 1);
	assert_int_equal(epoch.threads.epoch, 1);
	assert_int_equal(epoch_enter_thread(&epoch, 5), 0);
	epoch.thread->stack = 9;
	epoch.threads.epoch = UINT32_MAX;
	epoch_restart(&epoch, 1);
	assert_int_equal(epoch.threads.epoch, 1);
	assert_int_equal(epoch_enter_thread(&epoch, 5), 0);
	assert_new(&epoch, 5);
	epoch_clear(&epoch);
}

static void rounding_is_upwards(void **state)
{
	assert_int_equal(divide_up(0, 1000), 0);
	assert_int_equal(divide_up(1, 1000), 1);
	assert_int_equal(divide_up(1000, 1000), 1);
	assert_int_equal(divide_up(1001, 1000), 2);
	assert_int_equal(divide_up(-1, 1000), 0);
	assert_int_equal(divide_up(-1000, 1000), -1);
	assert_int_equal(divide_up(-1999, 1000), -1);
	assert_true(divide_up(INT64_MAX, 1000) == INT64_MAX / 1000 + 1);
	assert_true(divide_up(INT64_MIN, 1000) == INT64_MIN / 1000);
}

static int enter_threads(void *context)
{
	struct epoch epoch = {0};
	uint32_t n;
	int err = 0;

	epoch_restart(&epoch, 1);
	for (n = 0; n < 20 && !err; n++)
		err = epoch_enter_thread(&epoch, n);
	epoch_clear(&epoch);
	return err;
}

static void each_failing_allocation_is_reported(void **state)
{
	/* 8, 16, 32, 64 slots */
	assert_int_equal(alloc_fail_each(enter_threads, NULL), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_keep_their_values),
		cmocka_unit_test(epochs_start_over_safely),
		cmocka_unit_test(rounding_is_upwards),
		cmocka_unit_test(each_failing_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
