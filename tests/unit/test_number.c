/* SPDX-License-Identifier: BSD-2-Clause */
/* test_number.c - numbers as text. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "alloc.h"
#include "base/number.h"

struct time_text {
	int64_t ns;
	const char *text;
};

/*
 * Theirs rounds floating-point milliseconds to 6 decimals, half away from zero. Ours has whole
 * nanoseconds, which 6 decimals hold exactly: there is nothing less than 0.000001 to round.
 */
static const struct time_text times[] = {
	{0, "0"},
	{1, "0.000001"},
	{10, "0.00001"},
	{499999, "0.499999"},
	{500000, "0.5"},
	{100000, "0.1"},
	{999999, "0.999999"},
	{1000000, "1"},
	{1000001, "1.000001"},
	{10000000, "10"},
	{1000000000000, "1000000"},
	{1234567890, "1234.56789"},
	{9007199254740990, "9007199254.74099"},
	{9007199254740992, "9007199254.740992"},
	{INT64_MAX, "9223372036854.775807"},
};

#define TIME_COUNT (sizeof(times) / sizeof(times[0]))

static void assert_time(int64_t ns, const char *wanted)
{
	char text[NUMBER_TIME_MAX_BYTES + 1];
	char *end;

	memset(text, '#', sizeof(text));
	end = number_put_time_ms(text, ns);
	assert_int_equal(end - text, strlen(wanted));
	assert_memory_equal(text, wanted, strlen(wanted));
	assert_int_equal(text[NUMBER_TIME_MAX_BYTES], '#');
}

static void times_have_up_to_six_decimals_and_no_zeros_behind(void **state)
{
	size_t n;

	for (n = 0; n < TIME_COUNT; n++)
		assert_time(times[n].ns, times[n].text);
}

static void negative_times_are_the_mirror_image_and_there_is_no_minus_zero(void **state)
{
	char wanted[NUMBER_TIME_MAX_BYTES + 1];
	size_t n;

	assert_time(-0, "0");
	for (n = 1; n < TIME_COUNT; n++) {
		snprintf(wanted, sizeof(wanted), "-%s", times[n].text);
		assert_time(-times[n].ns, wanted);
	}
	assert_time(INT64_MIN, "-9223372036854.775808");
}

static void every_single_decimal_is_exact(void **state)
{
	char wanted[NUMBER_TIME_MAX_BYTES + 1];
	int64_t ns;

	for (ns = 1; ns < 3000000; ns += 7) {
		size_t length =
			(size_t)snprintf(wanted, sizeof(wanted), "%lld.%06lld",
					 (long long)(ns / 1000000), (long long)(ns % 1000000));

		while (wanted[length - 1] == '0')
			wanted[--length] = '\0';
		if (wanted[length - 1] == '.')
			wanted[--length] = '\0';
		assert_time(ns, wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_up_to_six_decimals_and_no_zeros_behind),
		cmocka_unit_test(negative_times_are_the_mirror_image_and_there_is_no_minus_zero),
		cmocka_unit_test(every_single_decimal_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
