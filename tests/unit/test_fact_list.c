/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts for the log: any number of them, in order, as copies; and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "recording/fact_list.h"

#include "alloc.h"

#define MANY 1000

static void keeps_any_number_in_order(void **state)
{
	struct fact_list list = {0};
	char name[16];
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "fact_%u", i);
		fact_list_add_number(&list, name, i);
	}
	assert_int_equal(list.error, 0);
	assert_int_equal(list.count, MANY);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "fact_%u", i);
		assert_string_equal(list.items[i].name, name);
		assert_int_equal(list.items[i].value, i);
		assert_null(list.items[i].text);
	}
	fact_list_clear(&list);
	assert_int_equal(list.count, 0);
}

static void has_copies_of_texts(void **state)
{
	struct fact_list list = {0};
	char text[] = "6.1";

	fact_list_add_text(&list, "kernel_release", text);
	text[0] = '5';
	assert_string_equal(list.items[0].name, "kernel_release");
	assert_string_equal(list.items[0].text, "6.1");
	fact_list_clear(&list);
}

/* 0, or what the list says of it. */
static int add_many(void *context)
{
	struct fact_list list = {0};
	size_t i;
	int err;

	for (i = 0; i < MANY; i++)
		fact_list_add_number(&list, "a", i);
	fact_list_add_text(&list, "b", "text");
	err = list.error;
	if (err)
		assert_true(list.count <= MANY);
	for (i = 0; i < list.count; i++)
		assert_non_null(list.items[i].name);
	fact_list_clear(&list);
	assert_int_equal(list.error, 0);
	return err;
}

static void without_memory_says_so(void **state)
{
	assert_true(alloc_fail_each(add_many, NULL) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_any_number_in_order),
		cmocka_unit_test(has_copies_of_texts),
		cmocka_unit_test(without_memory_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
