/* SPDX-License-Identifier: BSD-2-Clause */
/* What symbol files do when there is no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "symbol_files_fixture.h"

static __attribute__((noinline)) int local_function(int x)
{
	return x * 7 + 1;
}

static int open_once(void *context)
{
	const struct symbol_source source = {.path = "/proc/self/exe", .fd = -1};
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	int err = symbol_files_open(&symbol_files, NULL);

	if (err)
		return err;
	err = symbol_files_add(symbol_files, &source, &file);
	symbol_files_close(symbol_files);
	return err;
}

/* What failed for lack of memory works when there is some again. */
static void test_no_memory(void **state)
{
	struct place place = place_of((const void *)local_function);
	size_t n;

	for (n = 1;; n++) {
		struct symbol_files *symbol_files = open_symbol_files();
		struct symbol_file *file = add_path(symbol_files, place.path);
		struct symbol symbol;
		bool hit;
		int err;

		alloc_fail_at(n);
		err = symbol_file_lookup(file, place.offset, &symbol);
		hit = alloc_fail_stop();
		assert_true(!err || (hit && err == -ENOMEM));
		assert_symbol(file, place.offset, "local_function", place.address);
		symbol_files_close(symbol_files);
		if (!hit)
			break;
	}
	assert_true(n > 12);
}

static int find_function(void *context)
{
	const struct place *place = context;
	struct symbol_files *symbol_files = NULL;
	const struct symbol_source source = {.path = place->path, .fd = -1};
	struct symbol_file *file;
	struct symbol symbol;
	int err = symbol_files_open(&symbol_files, NULL);

	if (!err)
		err = symbol_files_add(symbol_files, &source, &file);
	if (!err)
		err = symbol_file_function(file, place->offset, &symbol);
	symbol_files_close(symbol_files);
	return err;
}

static void test_no_memory_for_functions(void **state)
{
	struct place place = place_of((const void *)local_function);

	assert_true(alloc_fail_each(find_function, &place) > 8);
	assert_int_equal(alloc_fail_each(open_once, NULL), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_memory_for_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
