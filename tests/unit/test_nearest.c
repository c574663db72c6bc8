/* SPDX-License-Identifier: BSD-2-Clause */
/* test_nearest.c - the known word that a mistyped one is nearest to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static void distances(void **state)
{
	char longest[200];

	assert_int_equal(nearest_distance("", ""), 0);
	assert_int_equal(nearest_distance("pid", "pid"), 0);
	assert_int_equal(nearest_distance("", "pid"), 3);
	assert_int_equal(nearest_distance("pid", ""), 3);
	assert_int_equal(nearest_distance("pdi", "pid"), 1);
	assert_int_equal(nearest_distance("pd", "pid"), 1);
	assert_int_equal(nearest_distance("piid", "pid"), 1);
	assert_int_equal(nearest_distance("pad", "pid"), 1);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);
	assert_int_equal(nearest_distance("ca", "abc"), 3);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(nearest_distance(longest, ""), NEAREST_BYTES - 1);
	assert_int_equal(nearest_distance(longest, longest), 0);
}

static void the_nearest_is_kept(void **state)
{
	struct nearest nearest = {.word = "reprot"};

	nearest_offer(&nearest, "convert");
	assert_string_equal(nearest.best, "");
	nearest_offer(&nearest, "reports");
	assert_string_equal(nearest.best, "reports");
	nearest_offer(&nearest, "report");
	assert_string_equal(nearest.best, "report");
	nearest_offer(&nearest, "deport");
	assert_string_equal(nearest.best, "report");
}

/* A third of the letters may be wrong. */
static void what_is_too_different_is_not_near(void **state)
{
	struct nearest two = {.word = "al"}, three = {.word = "alx"}, none = {0};

	nearest_offer(&two, "all");
	assert_string_equal(two.best, "");
	nearest_offer(&three, "all");
	assert_string_equal(three.best, "all");
	nearest_offer(&none, "all");
	assert_string_equal(none.best, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(the_nearest_is_kept),
		cmocka_unit_test(what_is_too_different_is_not_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
