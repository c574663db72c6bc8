/* SPDX-License-Identifier: BSD-2-Clause */
/* test_losses.c - the bounded list of what was lost: however long it gets, no count and no cause is mixed up or missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recording/losses.h"

#define MS 1000000ULL
#define LOOK (100 * MS)

static struct losses losses;

static int setup(void **state)
{
	losses.count = 0;
	return 0;
}

static void add(enum loss_cause cause, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	losses_add(&losses, &(struct loss){from_ns, to_ns, count, cause});
}

static uint64_t sum_of(enum loss_cause cause)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < losses.count; i++)
		if (losses.items[i].cause == cause)
			sum += losses.items[i].count;
	return sum;
}

static uint64_t longest_ns(void)
{
	uint64_t longest = 0;
	size_t i;

	for (i = 0; i < losses.count; i++)
		if (losses.items[i].to_ns - losses.items[i].from_ns > longest)
			longest = losses.items[i].to_ns - losses.items[i].from_ns;
	return longest;
}

/* Until it is full, each is as it was added. */
static void keeps_each(void **state)
{
	uint64_t i;

	for (i = 0; i < LOSSES_MAX; i++)
		add(LOSS_RING, i * LOOK, (i + 1) * LOOK, i);
	assert_int_equal(losses.count, LOSSES_MAX);
	for (i = 0; i < LOSSES_MAX; i++) {
		assert_int_equal(losses.items[i].from_ns, i * LOOK);
		assert_int_equal(losses.items[i].to_ns, (i + 1) * LOOK);
		assert_int_equal(losses.items[i].count, i);
	}
}

/* Something is lost all the time, for hours: each is told as near as there is room for, all alike. */
static void folds_neighbours(void **state)
{
	const uint64_t looks = 50 * LOSSES_MAX;
	uint64_t i, spans = 0;

	for (i = 0; i < looks; i++) {
		add(LOSS_TICKS, i * LOOK, (i + 1) * LOOK, i);
		assert_true(losses.count <= LOSSES_MAX);
	}
	assert_int_equal(sum_of(LOSS_TICKS), looks * (looks - 1) / 2);
	assert_true(losses.count > LOSSES_MAX / 5);
	assert_true(longest_ns() <= looks * LOOK / (LOSSES_MAX / 10));
	for (i = 0; i < losses.count; i++)
		spans += losses.items[i].to_ns - losses.items[i].from_ns;
	assert_int_equal(spans, looks * LOOK);
}

/* What is far from others stays where it is, as long as what is near others can make room. */
static void keeps_the_lonely(void **state)
{
	uint64_t i, lonely = 0;

	for (i = 0; i < 10; i++)
		add(LOSS_RING, i * 3600000 * MS, i * 3600000 * MS + LOOK, 1);
	for (i = 0; i < 3 * LOSSES_MAX; i++)
		add(LOSS_RING, 1800000 * MS + i * LOOK, 1800000 * MS + (i + 1) * LOOK, 1);
	for (i = 0; i < losses.count; i++)
		lonely += losses.items[i].to_ns - losses.items[i].from_ns == LOOK &&
			  losses.items[i].from_ns % (3600000 * MS) == 0;
	assert_int_equal(lonely, 10);
	assert_int_equal(sum_of(LOSS_RING), 10 + 3 * LOSSES_MAX);
}

/* In any order, of all causes. */
static void mixes_no_causes(void **state)
{
	uint64_t i, sums[LOSS_CAUSE_COUNT] = {0};
	unsigned int cause;

	for (i = 0; i < 20 * LOSSES_MAX; i++) {
		uint64_t at_ns = i * 7919 % (20 * LOSSES_MAX) * LOOK;

		cause = (unsigned int)(i * i % LOSS_CAUSE_COUNT);
		add(cause, at_ns, at_ns + LOOK, i);
		sums[cause] += i;
	}
	assert_true(losses.count <= LOSSES_MAX);
	for (cause = 0; cause < LOSS_CAUSE_COUNT; cause++)
		assert_int_equal(sum_of(cause), sums[cause]);
}

/* A file may say anything. */
static void bears_any_number(void **state)
{
	uint64_t i;

	for (i = 0; i < 2 * LOSSES_MAX; i++)
		add(i % LOSS_CAUSE_COUNT, i % 2 ? 0 : UINT64_MAX - 1, UINT64_MAX, UINT64_MAX);
	assert_true(losses.count <= LOSSES_MAX);
	for (i = 0; i < losses.count; i++)
		assert_int_equal(losses.items[i].count, UINT64_MAX);
}

static void has_words_for_each(void **state)
{
	unsigned int i, k;

	for (i = 0; i < LOSS_CAUSE_COUNT; i++) {
		assert_true(loss_words[i].kind < LOSS_KIND_COUNT);
		assert_non_null(loss_words[i].why);
		assert_non_null(loss_words[i].counter);
		for (k = 0; k < i; k++)
			assert_string_not_equal(loss_words[i].counter, loss_words[k].counter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(keeps_each, setup),
		cmocka_unit_test_setup(folds_neighbours, setup),
		cmocka_unit_test_setup(keeps_the_lonely, setup),
		cmocka_unit_test_setup(mixes_no_causes, setup),
		cmocka_unit_test_setup(bears_any_number, setup),
		cmocka_unit_test(has_words_for_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
