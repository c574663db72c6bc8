/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sampling_period.c - samples fall evenly on whatever a timer wakes. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "session/sampling_period.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECONDS 60ULL
#define BINS 1000
#define WORKS 60 /* bins: a program that works for 6 % of its timer's period */

static const uint32_t rates_hz[] = {20000, 10000, 5000, 4000, 2000, 1000, 999, 997, 500,
				    250,   200,   199,  100,  99,   50,   49,  20};
static const uint64_t timers_ns[] = {1000000, 2000000, 4000000, 10000000};

/* How many samples of a minute fall into each thousandth of the timer's period. Returns how many there are. */
static uint32_t count_samples(uint64_t period_ns, uint64_t timer_ns, uint32_t bins[BINS])
{
	uint64_t count = SECONDS * NS_PER_SEC / period_ns, i;

	memset(bins, 0, BINS * sizeof(*bins));
	for (i = 0; i < count; i++)
		bins[i * period_ns % timer_ns * BINS / timer_ns]++;
	return (uint32_t)count;
}

/* Wherever in the period it works: samples within 5 % of its CPU time and two standard errors. */
static void expect_even(const uint32_t bins[BINS], uint32_t count)
{
	double expected = (double)count * WORKS / BINS, slack = 0.05 * expected, got = 0;
	uint32_t i;

	for (i = 0; i < WORKS; i++)
		got += bins[i];
	for (i = 0; i < BINS; i++) {
		double far = got - expected;

		assert_true(far * far <= slack * slack + 4 * expected);
		got += bins[(i + WORKS) % BINS];
		got -= bins[i];
	}
}

static void test_in_step_with_no_timer(void **state)
{
	static uint32_t bins[BINS];
	size_t i, j;

	for (i = 0; i < COUNT(rates_hz); i++) {
		uint64_t period_ns = sampling_period_ns(rates_hz[i]);

		for (j = 0; j < COUNT(timers_ns); j++)
			expect_even(bins, count_samples(period_ns, timers_ns[j], bins));
	}
}

static void test_near_what_was_asked_for(void **state)
{
	uint32_t rate_hz;

	for (rate_hz = 1; rate_hz <= 20000; rate_hz++) {
		double asked_ns = 1e9 / rate_hz, period_ns = (double)sampling_period_ns(rate_hz);

		assert_true(period_ns > asked_ns * 1.0309 - 1);
		assert_true(period_ns < asked_ns * 1.031 + 1);
	}
	assert_int_equal(sampling_rate_hz(1000), 970);
	assert_int_equal(sampling_rate_hz(20000), 19401);
	assert_int_equal(sampling_rate_hz(1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_step_with_no_timer),
		cmocka_unit_test(test_near_what_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
