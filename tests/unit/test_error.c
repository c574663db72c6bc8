/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors as values: what is said of them, cut and cleaned, and what stays when one is set again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/error.h"

static void has_object_cause_and_remedy(void **state)
{
	struct error error = {0};

	assert_int_equal(error_set(&error, -EACCES, "/x/y", "cannot write there: %s", "no"),
			 -EACCES);
	error_advise(&error, "give %d more", 2);
	assert_int_equal(error.number, -EACCES);
	assert_string_equal(error.object, "/x/y");
	assert_string_equal(error.cause, "cannot write there: no");
	assert_string_equal(error.remedy, "give 2 more");
}

static void the_last_one_counts(void **state)
{
	struct error error = {0};

	error_set(&error, -EACCES, "/x/y", "cannot write there");
	error_advise(&error, "give another");
	assert_int_equal(error_set(&error, -ENOMEM, NULL, "out of memory"), -ENOMEM);
	assert_int_equal(error.number, -ENOMEM);
	assert_string_equal(error.object, "");
	assert_string_equal(error.cause, "out of memory");
	assert_string_equal(error.remedy, "");
}

static void nobody_has_to_listen(void **state)
{
	assert_int_equal(error_set(NULL, -EIO, "/x/y", "%s", "broken"), -EIO);
	error_advise(NULL, "%s", "mend it");
}

static void texts_are_one_line(void **state)
{
	struct error error = {0};

	error_set(&error, -EBADMSG, "a\nb", "c\x1b[2Jd\xc3\xbc");
	error_advise(&error, "e\tf");
	assert_string_equal(error.object, "a?b");
	assert_string_equal(error.cause, "c?[2Jd\xc3\xbc");
	assert_string_equal(error.remedy, "e?f");
}

static void long_texts_are_cut(void **state)
{
	struct error error = {0};
	char text[8192];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&error, -EBADMSG, text, "%s", text);
	error_advise(&error, "%s", text);
	assert_int_equal(strlen(error.object), sizeof(error.object) - 1);
	assert_int_equal(strlen(error.cause), sizeof(error.cause) - 1);
	assert_int_equal(strlen(error.remedy), sizeof(error.remedy) - 1);
}

static void keep_warning(void *context, const struct error *warning)
{
	*(struct error *)context = *warning;
}

static void warnings_are_told(void **state)
{
	struct error last = {.number = -1};
	const struct warning_sink sink = {keep_warning, &last};

	warning_say(&sink, "a.gbpf", "%d bytes are missing", 3);
	assert_int_equal(last.number, 0);
	assert_string_equal(last.object, "a.gbpf");
	assert_string_equal(last.cause, "3 bytes are missing");
	assert_string_equal(last.remedy, "");
	warning_say(NULL, "a.gbpf", "%d bytes are missing", 4);
	assert_string_equal(last.cause, "3 bytes are missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_object_cause_and_remedy),
		cmocka_unit_test(the_last_one_counts),
		cmocka_unit_test(nobody_has_to_listen),
		cmocka_unit_test(texts_are_one_line),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(warnings_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
