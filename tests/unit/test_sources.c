/* SPDX-License-Identifier: BSD-2-Clause */
/* test_sources.c - sources are driven through their rows alone: a toy one is a file and a row of a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc.h"
#include "capture/sources.h"
#include "toy_source.h"

static const struct source *const table[] = {
	&toy_source_0,
	&toy_source_1,
	NULL,
};

static const struct source_config wanted = {.period_ns = 1};

static int reset(void **state)
{
	(void)state;
	toys[0] = (struct toy){.letter = 'a'};
	toys[1] = (struct toy){.letter = 'b'};
	toy_calls[0] = '\0';
	return 0;
}

static void test_a_whole_life(void **state)
{
	struct sources *sources;

	(void)state;
	assert_int_equal(sources_open(&sources, table, &wanted), 0);
	assert_string_equal(toy_calls, "");
	assert_int_equal(sources_start(sources, NULL), 0);
	assert_true(toys[0].is_running && toys[1].is_running);
	assert_int_equal(sources_follow_cpus(sources), 0);
	sources_pause(sources);
	assert_int_equal(sources_follow_cpus(sources), 0);
	assert_int_equal(sources_resume(sources), 0);
	sources_stop(sources);
	sources_close(sources);
	assert_string_equal(toy_calls, "ao bo a+ b+ ac bc ap bp ar br a- b- ax bx");
}

static void test_only_what_is_wanted(void **state)
{
	static const struct source_config nothing = {0};
	struct sources *sources;

	(void)state;
	toys[0].is_unwanted = true;
	assert_int_equal(sources_open(&sources, table, &wanted), 0);
	assert_int_equal(sources_count(sources), 1);
	assert_ptr_equal(sources_at(sources, 0), &toy_source_1);
	assert_string_equal(sources_programs(sources)[0], "on_other_toy");
	assert_null(sources_programs(sources)[1]);
	assert_true(sources_has_program(sources, "on_other_toy"));
	assert_false(sources_has_program(sources, "on_toy"));
	sources_close(sources);
	assert_int_equal(sources_open(&sources, table, &nothing), 0);
	assert_int_equal(sources_count(sources), 0);
	assert_null(sources_programs(sources)[0]);
	sources_close(sources);
}

/* One that cannot start, or go on, takes the others with it: never half of them. */
static void test_all_or_none(void **state)
{
	struct sources *sources;

	(void)state;
	assert_int_equal(sources_open(&sources, table, &wanted), 0);
	toys[1].start_error = -ENODEV;
	assert_int_equal(sources_start(sources, NULL), -ENODEV);
	assert_false(toys[0].is_running);
	assert_int_equal(sources_follow_cpus(sources), 0);
	sources_close(sources);
	assert_string_equal(toy_calls, "ao bo a+ b+ a- b- ax bx");

	reset(NULL);
	assert_int_equal(sources_open(&sources, table, &wanted), 0);
	assert_int_equal(sources_start(sources, NULL), 0);
	sources_pause(sources);
	toys[1].resume_error = -EMFILE;
	assert_int_equal(sources_resume(sources), -EMFILE);
	assert_false(toys[0].is_running);
	toys[1].resume_error = 0;
	assert_int_equal(sources_resume(sources), 0);
	assert_true(toys[0].is_running && toys[1].is_running);
	sources_close(sources);
}

static int open_and_close(void *context)
{
	struct sources *sources = NULL;
	int err = sources_open(&sources, table, &wanted);

	(void)context;
	sources_close(sources);
	return err;
}

static void test_without_memory(void **state)
{
	(void)state;
	assert_true(alloc_fail_each(open_and_close, NULL) > 0);
	sources_close(NULL);
	sources_stop(NULL);
}

/* What the product has: each row is complete. */
static void test_the_table(void **state)
{
	const struct source *const *row;

	(void)state;
	for (row = source_table; *row; row++) {
		const struct source *source = *row;

		assert_true(source->name && source->programs && source->counters);
		assert_true(source->is_wanted && source->open && source->start && source->pause);
		assert_true(source->resume && source->follow_cpus && source->stop && source->close);
		assert_non_null(source->programs[0]);
	}
	assert_ptr_not_equal(row, source_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_a_whole_life, reset),
		cmocka_unit_test_setup(test_only_what_is_wanted, reset),
		cmocka_unit_test_setup(test_all_or_none, reset),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
