/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats are rows of a table, found by name or by suffix; each is in the words that say what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"
#include "format/gecko.h"
#include "format/pprof.h"
#include "format/processed.h"

#include "alloc.h"

static void by_name(void **state)
{
	assert_ptr_equal(format_named("gecko")->open, gecko_open);
	assert_ptr_equal(format_named("processed")->open, processed_open);
	assert_null(format_named("pprof"));
	assert_null(format_named(""));
}

static void by_suffix(void **state)
{
	static const char *const gecko[] = {"a.json", "/x/a.json.gz", "x/.a.json.zst", "a.pb.json"};
	size_t i;

	for (i = 0; i < sizeof(gecko) / sizeof(*gecko); i++)
		assert_ptr_equal(format_of_path(gecko[i]), format_named("gecko"));
	assert_ptr_equal(format_of_path("a.pb.gz")->write, pprof_write);
	assert_null(format_of_path("a.pb.gz")->write_cpu);
	assert_non_null(format_of_path("a.folded")->write_cpu);
}

static void no_format(void **state)
{
	static const char *const paths[] = {
		"",       "-",       "a",       ".json",  "x/.json.gz", "json",       "a.gz",
		"a.JSON", ".folded", "a.json/", "a.gbpf", "a.json.xz",  "a.folded.gz"};
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		assert_null(format_of_path(paths[i]));
}

static void rows_are_sound(void **state)
{
	const struct format *row;
	size_t i;

	assert_non_null(format_table->open);
	for (row = format_table; row->open || row->write; row++) {
		assert_true(!row->open != !row->write);
		assert_true(row->write || !row->write_cpu);
		/* Whoever asks for a name wants a sink. */
		assert_int_equal(row->name != NULL, row->open != NULL);
		assert_true(row->name || row->suffixes[0]);
		if (row->name) {
			assert_ptr_equal(format_named(row->name), row);
			assert_non_null(strstr(FORMAT_NAMES, row->name));
			assert_non_null(strstr(FORMAT_CHOICE, row->name));
		}
		for (i = 0; i < FORMAT_SUFFIXES_MAX && row->suffixes[i]; i++)
			assert_non_null(strstr(FORMAT_SUFFIXES, row->suffixes[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name),
		cmocka_unit_test(by_suffix),
		cmocka_unit_test(no_format),
		cmocka_unit_test(rows_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
