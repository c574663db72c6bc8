/* SPDX-License-Identifier: BSD-2-Clause */
/* display_name_fixture.h - the display name of a function as a text. */
#ifndef GECKOBPF_TESTS_DISPLAY_NAME_FIXTURE_H
#define GECKOBPF_TESTS_DISPLAY_NAME_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/display_name.h"

static struct display_name display_name;

static const char *text_of_name(int err)
{
	static char text[256];

	assert_int_equal(err, 0);
	assert_true(display_name.count < sizeof(text));
	memcpy(text, display_name.items, display_name.count);
	text[display_name.count] = '\0';
	return text;
}

static const char *text_of_function(const struct profile_function *function)
{
	return text_of_name(display_name_set(&display_name, function));
}

#endif
