/* SPDX-License-Identifier: BSD-2-Clause */
/* test_records_maps.c - what records say of mappings: whose are kept, and with what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "records_fixture.h"

/* ---- mappings of whom ----------------------------------------------------------------------------------------- */

static void test_unwanted_mappings(void **state)
{
	tell_map(RECORD_MAP, 1, 99, 0x1000, "/nonexistent/a");
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	assert_int_equal(objects_count(world.objects), 0);
	assert_int_equal(processes_count(world.processes), 0);
	assert_no_loss();
}

/* A command's first exec comes before any record names its process. */
static void test_expected_mappings(void **state)
{
	assert_int_equal(records_expect(world.records, 99), 0);
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	tell(GB_TASK_EXEC, 3, task(99, 99, 1), "a");
	assert_string_equal(path_at(image_of(99, 1), 0x1000, 9), "/nonexistent/a");
	assert_true(image_of(99, 1)->is_root);
}

static void test_all_mappings(void **state)
{
	close_world();
	assert_int_equal(open_world(true), 0);
	tell_map(RECORD_IMAGE, 1, 99, 0, "");
	tell_map(RECORD_MAP, 2, 99, 0x1000, "/nonexistent/a");
	tell(GB_TASK_EXEC, 3, task(99, 99, 1), "a");
	assert_string_equal(path_at(image_of(99, 1), 0x1000, 9), "/nonexistent/a");
}

static void test_mapping_details(void **state)
{
	const struct mapping *mapping;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell_map(RECORD_MAP, 7, 10, 0x1000, "//anon");
	mapping = address_space_find(&image_of(10, 0)->space, 0x1fff, 7);
	assert_non_null(mapping);
	assert_int_equal(mapping->start, 0x1000);
	assert_int_equal(mapping->end, 0x2000);
	assert_int_equal(mapping->offset, 0x2000);
	assert_int_equal(mapping->from_ns, 7);
	assert_int_equal(mapping->object->kind, OBJECT_ANONYMOUS);
	assert_int_equal(mapping->object->first_pid, 10);
}

static void note_changed(void *context, struct process *process)
{
	++*(size_t *)context;
}

/* A process that maps without end has its share, which may become less; others keep what they have. */
static void test_limit(void **state)
{
	size_t changed = 0;
	uint64_t i;

	records_listen(world.records,
		       &(struct records_listener){.changed = note_changed, .context = &changed});
	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell(GB_TASK_SEEN, 1, task(20, 20, 0), "b");
	for (i = 0; i < 100; i++)
		tell_map(RECORD_MAP, 2, 20, 0x2000 * (i + 1), "/modest");
	records_limit_mappings(world.records, 1024);
	for (i = 0; i < 3000; i++)
		tell_map(RECORD_MAP, 3 + i, 10, 0x2000 * (i + 1), "/many");
	assert_in_range(image_of(10, 0)->space.count, 768, 1024);
	assert_int_equal(image_of(10, 0)->space.count +
				 records_counts(world.records)->mappings_left_out,
			 3000);
	changed = 0;
	records_limit_mappings(world.records, 256);
	assert_int_equal(changed, 1);
	assert_in_range(image_of(10, 0)->space.count, 192, 256);
	assert_int_equal(image_of(10, 0)->space.count +
				 records_counts(world.records)->mappings_left_out,
			 3000);
	assert_string_equal(path_at(image_of(10, 0), 0x2020, 5000), "/many");
	assert_string_equal(path_at(image_of(10, 0), 0x2000 * 3000, 5000), "/many");
	assert_int_equal(image_of(20, 0)->space.count, 100);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup_world, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(test_unwanted_mappings),
		FRESH(test_expected_mappings),
		FRESH(test_all_mappings),
		FRESH(test_mapping_details),
		FRESH(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
