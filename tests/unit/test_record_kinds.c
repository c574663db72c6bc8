/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of records are rows of a table: those there are, and a toy that is added here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "recording/task_records.h"
#include "records_fixture.h"

/* ---- a toy: a number, and the sum of all of them ------------------------------------------------------- */

#define TOY_KIND 40

struct toy {
	struct gb_record hdr;
	uint64_t number;
};

static uint64_t toy_sum;

static void apply_toy(struct records *records, const void *record, size_t size)
{
	toy_sum += ((const struct toy *)record)->number;
}

static const struct record_kind toy_record = {
	.kind = TOY_KIND,
	.order = RECORD_IN_ORDER,
	.min_bytes = sizeof(struct toy),
	.apply = apply_toy,
};

static int open_with_toy(void **state)
{
	static const struct record_kind *const kinds[] = {&task_record, &toy_record, NULL};
	int err = open_world(false);

	records_close(world.records);
	world.records = NULL;
	toy_sum = 0;
	return err ? err
		   : records_open(&world.records,
				  &(struct records_config){.processes = world.processes,
							   .objects = world.objects,
							   .kinds = kinds});
}

static struct toy make_toy(uint64_t number)
{
	return (struct toy){.hdr = {.kind = TOY_KIND, .size = sizeof(struct toy)},
			    .number = number};
}

static void a_kind_is_a_row(void **state)
{
	const struct toy two = make_toy(2), three = make_toy(3);

	records_apply(world.records, &two, sizeof(two));
	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	records_apply(world.records, &three, sizeof(three));
	assert_int_equal(toy_sum, 5);
	assert_int_equal(processes_count(world.processes), 1);
	assert_int_equal(records_order(world.records, &two, sizeof(two)), RECORD_IN_ORDER);
	assert_no_loss();
}

static void what_has_no_row_is_bad(void **state)
{
	struct toy toy = make_toy(2);

	tell_sample(2, task(10, 10, 0));
	assert_int_equal(counts()->bad_records, 1);
	toy.hdr.size--;
	records_apply(world.records, &toy, sizeof(toy) - 1);
	assert_int_equal(counts()->bad_records, 2);
	assert_int_equal(toy_sum, 0);
}

/* ---- those there are ----------------------------------------------------------------------------------- */

static enum record_order order_of(uint16_t kind)
{
	const struct gb_record record = {.kind = kind, .size = sizeof(record)};

	return records_order(world.records, &record, sizeof(record));
}

static void each_says_when_it_is_applied(void **state)
{
	const struct gb_record record = {.kind = GB_RECORD_TASK, .size = 1000};

	assert_int_equal(order_of(GB_RECORD_TASK), RECORD_IN_ORDER);
	assert_int_equal(order_of(RECORD_MAP), RECORD_IN_ORDER);
	assert_int_equal(order_of(RECORD_IMAGE), RECORD_IN_ORDER);
	assert_int_equal(order_of(GB_RECORD_SAMPLE), RECORD_AT_ONCE);
	assert_int_equal(order_of(GB_RECORD_RAW), RECORD_AFTER_EARLIER);
	assert_int_equal(order_of(TOY_KIND), RECORD_AT_ONCE); /* not known here */
	assert_int_equal(order_of(UINT16_MAX), RECORD_AT_ONCE);
	/* Nonsense waits for nothing. */
	assert_int_equal(records_order(world.records, &record, sizeof(record)), RECORD_AT_ONCE);
	assert_int_equal(records_order(world.records, &record, 1), RECORD_AT_ONCE);
}

static void rows_are_sound(void **state)
{
	const struct record_kind *const *row, *const *other;

	for (row = record_table; *row; row++) {
		assert_true((*row)->kind > 0 && (*row)->kind < RECORD_KINDS_MAX);
		assert_true((*row)->min_bytes >= sizeof(struct gb_record));
		assert_non_null((*row)->apply);
		for (other = record_table; other != row; other++)
			assert_int_not_equal((*row)->kind, (*other)->kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_kind_is_a_row, open_with_toy, teardown_world),
		cmocka_unit_test_setup_teardown(what_has_no_row_is_bad, open_with_toy,
						teardown_world),
		cmocka_unit_test_setup_teardown(each_says_when_it_is_applied, setup_world,
						teardown_world),
		cmocka_unit_test(rows_are_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
