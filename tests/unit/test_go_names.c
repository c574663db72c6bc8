/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Go functions, from tables made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "go_fixture.h"

static void assert_function(uint32_t offset, uint32_t start, uint32_t end, const char *name)
{
	struct go_function_name found;

	assert_true(go_code_find(&go, offset, &found));
	assert_int_equal(found.start, start);
	assert_int_equal(found.end, end);
	if (name)
		assert_string_equal(found.name, name);
	else
		assert_null(found.name);
}

static void test_names(void **state)
{
	struct go_function_name found;

	usual();
	assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
	assert_function(BASE, BASE, BASE + 64, "main.first");
	assert_function(BASE + 63, BASE, BASE + 64, "main.first");
	assert_function(BASE + 64, BASE + 64, BASE + 128, "runtime.mcall");
	assert_function(BASE + 159, BASE + 128, BASE + 160, "runtime.sigreturn");
	assert_false(go_code_find(&go, BASE + 160, &found));
	assert_false(go_code_find(&go, BASE - 1, &found));
	assert_false(go_code_find(&go, UINT64_MAX, &found));
	go_code_close(&go);
	assert_false(go_code_find(&go, BASE, &found));
}

/* Names that are empty, outside of the table, or have no end; and a function without a description. */
static void test_bad_names(void **state)
{
	const uint32_t names[] = {(uint32_t)strlen("main.first"), UINT32_MAX,
				  sizeof(file.bytes) - NAMES - 4};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		usual();
		memset(file.bytes + sizeof(file.bytes) - 4, 'x', 4);
		put_u32(FUNCTIONS + (FUNCTIONS_MAX + 1) * 8 + 4, names[i]);
		assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
		assert_function(BASE, BASE, BASE + 64, NULL);
		go_code_close(&go);
	}
	usual();
	put_u32(FUNCTIONS + 4, UINT32_MAX);
	assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
	assert_function(BASE, BASE, BASE + 64, NULL);
	go_code_close(&go);
}

int main(void)
{
	/* clang-format off */
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names),
		cmocka_unit_test(test_bad_names),
	};
	/* clang-format on */

	return cmocka_run_group_tests(tests, NULL, NULL);
}
