/* SPDX-License-Identifier: BSD-2-Clause */
/* test_loss_watch.c - what counters of losses rose by between two looks, and that it adds up to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "session/counters.h"
#include "session/loss_watch.h"

static struct loss_watch watch;
static struct counters counters;

static int setup(void **state)
{
	memset(&watch, 0, sizeof(watch));
	memset(&counters, 0, sizeof(counters));
	watch.looked_ns = 1000;
	return 0;
}

static void expect(size_t index, enum loss_cause cause, uint64_t from_ns, uint64_t to_ns,
		   uint64_t count)
{
	const struct loss *loss = &watch.all.items[index];

	assert_true(index < watch.all.count);
	assert_int_equal(loss->cause, cause);
	assert_int_equal(loss->from_ns, from_ns);
	assert_int_equal(loss->to_ns, to_ns);
	assert_int_equal(loss->count, count);
}

static void notes_what_rose(void **state)
{
	counters.kernel[GB_STAT_CONTROL_FULL] = 2;
	loss_watch_look(&watch, &counters, 1100);
	loss_watch_look(&watch, &counters, 1200);
	counters.kernel[GB_STAT_CONTROL_FULL] = 5;
	counters.ticks_missed_other = 7;
	loss_watch_look(&watch, &counters, 1300);
	assert_int_equal(watch.all.count, 3);
	expect(0, LOSS_CONTROL_RING, 1000, 1100, 2);
	expect(1, LOSS_TICKS, 1200, 1300, 7);
	expect(2, LOSS_CONTROL_RING, 1200, 1300, 3);
	assert_int_equal(watch.unwritten.count, 3);
}

/* Those of the kernel could not be read, or a capture ended before the last look. */
static void never_goes_back(void **state)
{
	counters.kernel[GB_STAT_RING_FULL] = 5;
	loss_watch_look(&watch, &counters, 1100);
	counters.kernel[GB_STAT_RING_FULL] = 0;
	loss_watch_look(&watch, &counters, 1200);
	counters.kernel[GB_STAT_RING_FULL] = 6;
	loss_watch_look(&watch, &counters, 1150);
	assert_int_equal(watch.all.count, 2);
	expect(1, LOSS_RING, 1200, 1200, 1);
	assert_int_equal(watch.looked_ns, 1200);
}

static void knows_since_when_it_was_behind(void **state)
{
	loss_watch_look(&watch, &counters, 2000);
	counters.left_out.samples = 3;
	counters.left_out.events = 4;
	counters.left_out.since_ns = 1500;
	counters.records.put_failed = 1;
	loss_watch_look(&watch, &counters, 2100);
	assert_int_equal(watch.all.count, 3);
	expect(0, LOSS_BUFFER, 2000, 2100, 1);
	expect(1, LOSS_LEFT_OUT, 1500, 2100, 3);
	expect(2, LOSS_EVENTS_LEFT_OUT, 1500, 2100, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(notes_what_rose, setup),
		cmocka_unit_test_setup(never_goes_back, setup),
		cmocka_unit_test_setup(knows_since_when_it_was_behind, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
