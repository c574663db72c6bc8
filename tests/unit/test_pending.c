/* SPDX-License-Identifier: BSD-2-Clause */
/* Records come out by time, and by arrival where times are equal, however putting and taking alternate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <linux/types.h>

#include "capture/pending.h"
#include "geckobpf_abi.h"

#include "alloc.h"

#define RECORDS 3000

struct numbered {
	struct gb_record header;
	uint64_t number;
};

static void put(struct pending *pending, uint64_t time_ns, uint64_t number)
{
	struct numbered record = {.number = number};

	record.header.time_ns = time_ns;
	assert_int_equal(pending_put(pending, &record.header, sizeof(record)), 0);
}

static void expect_next(struct pending *pending, uint64_t time_ns, uint64_t number)
{
	struct gb_record *record = pending_take(pending, UINT64_MAX);

	assert_non_null(record);
	assert_int_equal(record->time_ns, time_ns);
	assert_int_equal(((struct numbered *)record)->number, number);
	free(record);
}

static void they_come_out_by_time(void **state)
{
	struct pending pending = {0};
	uint64_t i;

	for (i = 0; i < RECORDS; i++)
		put(&pending, i * 7919 % RECORDS, i); /* coprime: each time once */
	for (i = 0; i < RECORDS; i++) {
		struct gb_record *record = pending_take(&pending, UINT64_MAX);

		assert_non_null(record);
		assert_int_equal(record->time_ns, i);
		free(record);
	}
	assert_null(pending_take(&pending, UINT64_MAX));
	pending_clear(&pending);
}

static void equal_times_keep_their_order(void **state)
{
	struct pending pending = {0};
	uint64_t i, time;

	for (i = 0; i < RECORDS; i++)
		put(&pending, i % 3, i);
	for (time = 0; time < 3; time++)
		for (i = time; i < RECORDS; i += 3)
			expect_next(&pending, time, i);
	pending_clear(&pending);
}

static void what_is_not_before_stays(void **state)
{
	struct pending pending = {0};
	struct gb_record *record;

	put(&pending, 20, 0);
	put(&pending, 10, 1);
	assert_null(pending_take(&pending, 10));
	record = pending_take(&pending, 11);
	assert_non_null(record);
	free(record);
	assert_null(pending_take(&pending, 20));
	put(&pending, 5, 2);
	expect_next(&pending, 5, 2);
	expect_next(&pending, 20, 0);
	put(&pending, 1, 3); /* cleared with something in it */
	pending_clear(&pending);
}

static int put_some(void *context)
{
	const struct gb_record record = {.time_ns = 1};
	struct pending pending = {0};
	int err = 0, i;

	for (i = 0; i < 20 && !err; i++)
		err = pending_put(&pending, &record, sizeof(record));
	assert_int_equal(pending.count, err ? i - 1 : 20);
	pending_clear(&pending);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(put_some, NULL) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_come_out_by_time),
		cmocka_unit_test(equal_times_keep_their_order),
		cmocka_unit_test(what_is_not_before_stays),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
