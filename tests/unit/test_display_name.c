/* SPDX-License-Identifier: BSD-2-Clause */
/* What a function is shown as: its name and its file, without what the front-end would take for something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/display_name.h"
#include "profile/model.h"

#include "alloc.h"
#include "display_name_fixture.h"

static const char *text_of_code(const char *name, const char *lib, uint64_t value)
{
	const struct profile_function function = {.name = name, .lib = lib, .value = value};

	return text_of_function(&function);
}

static const char *text_of_start(const char *lib, uint64_t value)
{
	const struct profile_function function = {.lib = lib, .value = value, .is_start = true};

	return text_of_function(&function);
}

static void display_names(void **state)
{
	assert_string_equal(text_of_code("f(int)", "libc.so.6", 0), "f(int) (in libc.so.6)");
	assert_string_equal(text_of_code("f", "a (deleted)", 0), "f (in a (deleted])");
	assert_string_equal(text_of_code("0xdead", "x", 0), "_0xdead (in x)");
	assert_string_equal(text_of_code("a\nb\x1f", "x\ty", 0), "a?b? (in x?y)");
	assert_string_equal(text_of_code("f", NULL, 0), "f");
	assert_string_equal(text_of_code(NULL, "libx.so", 0x1a2b), "libx.so+0x1a2b (in libx.so)");
	assert_string_equal(text_of_code(NULL, "0xlib)", 1), "_0xlib]+0x1 (in 0xlib])");
	assert_string_equal(text_of_start("libx.so", 0x1a00), "libx.so!fn@0x1a00 (in libx.so)");
	assert_string_equal(text_of_code(NULL, NULL, UINT64_MAX), "0xffffffffffffffff");
	assert_string_equal(text_of_code("(truncated: a\tb)", NULL, 0), "(truncated: a?b)");
	display_name_clear(&display_name);
}

static int attempt(void *context)
{
	const struct profile_function function = {.lib = "libx.so", .value = 0x1a00};
	int err = display_name_set(&display_name, &function);

	display_name_clear(&display_name);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(attempt, NULL) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(display_names),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
