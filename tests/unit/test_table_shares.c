/* SPDX-License-Identifier: BSD-2-Clause */
/* test_table_shares.c - whose table makes room: that of who has most, unless he has less than who asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/table_shares.h"

static const struct table_store_size limits = {1000, 1000, 1000};

static struct table_holding rules_of(uint32_t owner, uint64_t rules)
{
	return (struct table_holding){.owner = owner, .users = 1, .size = {1, 1, rules}};
}

static int64_t chosen(struct table_holding *holdings, size_t count, struct table_holding wanted)
{
	const struct table_holding *found;
	size_t i;

	for (i = 0; i < count; i++)
		holdings[i].tag = (uint32_t)i;
	found = table_shares_choose(holdings, count, &wanted, &limits);
	return found ? (int64_t)found->tag : -1;
}

static void largest_of_three_shares(void **state)
{
	const struct table_store_size none = {0};

	assert_int_equal(table_shares_of(&(struct table_store_size){500, 1, 1}, &limits), 500000);
	assert_int_equal(table_shares_of(&(struct table_store_size){1, 600, 1}, &limits), 600000);
	assert_int_equal(table_shares_of(&(struct table_store_size){1, 1, 700}, &limits), 700000);
	assert_int_equal(table_shares_of(&(struct table_store_size){1, 1, 1}, &none), 0);
}

static void who_has_most_makes_room(void **state)
{
	struct table_holding holdings[] = {rules_of(7, 100), rules_of(8, 200), rules_of(7, 150),
					   rules_of(9, 240)};

	assert_int_equal(chosen(holdings, 4, rules_of(10, 50)), 2);
}

static void nobody_has_more_than_who_asks(void **state)
{
	struct table_holding holdings[] = {rules_of(7, 300), rules_of(8, 200), rules_of(8, 90)};

	assert_int_equal(chosen(holdings, 3, rules_of(8, 10)), -1);
	assert_int_equal(chosen(holdings, 3, rules_of(10, 300)), -1);
	assert_int_equal(chosen(holdings, 3, rules_of(10, 299)), 0);
	assert_int_equal(chosen(holdings, 0, rules_of(10, 1)), -1);
}

static void files_of_root_stay(void **state)
{
	struct table_holding holdings[] = {rules_of(0, 900), rules_of(8, 90)};

	assert_int_equal(chosen(holdings, 2, rules_of(7, 1)), 1);
	assert_int_equal(chosen(holdings, 1, rules_of(7, 1)), -1);
}

/* A table that many use is worth its room. */
static void fewest_users_for_the_room(void **state)
{
	struct table_holding holdings[] = {rules_of(8, 400), rules_of(8, 300), rules_of(8, 100)};

	holdings[0].users = 9;
	assert_int_equal(chosen(holdings, 3, rules_of(0, 1)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(largest_of_three_shares),
		cmocka_unit_test(who_has_most_makes_room),
		cmocka_unit_test(nobody_has_more_than_who_asks),
		cmocka_unit_test(files_of_root_stay),
		cmocka_unit_test(fewest_users_for_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
