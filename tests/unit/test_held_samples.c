/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples that wait for unwind tables: which, behind which, how long, and how many; with a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "recording/sample_frames.h"

#include "alloc.h"
#include "records_fixture.h"

#define ONE task(10, 10, 1)
#define TWO task(10, 11, 1) /* another thread of the process */
#define NONE UINT32_MAX
#define LARGEST (sizeof(struct gb_sample) + (GB_RAW_REGS + GB_RAW_STACK_WORDS) * 8)

static uint64_t now_ns;
static struct {
	uint32_t needs[4]; /* the file that the raw sample of thread 10 + i waits for; NONE */
	size_t tries;
} tables;

int clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){.tv_sec = (time_t)(now_ns / NS_PER_SEC),
				 .tv_nsec = (long)(now_ns % NS_PER_SEC)};
	return 0;
}

static bool unwind(void *context, const struct process *process, const struct gb_sample *raw,
		   struct gb_sample *out, uint32_t *awaited)
{
	const uint32_t file = tables.needs[raw->task.tid - 10];

	tables.tries++;
	sample_without_user(raw, out);
	if (file != NONE)
		*awaited = file;
	return file == NONE;
}

static bool is_awaited(void *context, uint32_t file)
{
	size_t i;

	for (i = 0; i < 4; i++)
		if (tables.needs[i] == file)
			return true;
	return false;
}

static int setup(void **state)
{
	int err = open_world(true);

	now_ns = NS_PER_SEC;
	memset(&tables, 0xff, sizeof(tables));
	tables.tries = 0;
	if (!err)
		records_listen(world.records, &(struct records_listener){.unwind = unwind,
									 .is_awaited = is_awaited});
	return err;
}

static void tell_raw(uint64_t time_ns, struct gb_task named)
{
	const struct sample_bytes raw = make_raw(time_ns, named);

	tell_sample_bytes(&raw);
}

static void assert_samples(size_t taken, bool are_held)
{
	assert_int_equal(counts()->samples, taken);
	assert_int_equal(records_hold_samples(world.records), are_held);
	assert_int_equal(counts()->put_failed, 0);
	assert_no_loss();
}

/* Those of its thread wait behind it, those of others do not. */
static void waits_for_a_table(void **state)
{
	tables.needs[0] = 7;
	tell_raw(1000, ONE);
	assert_samples(0, true);
	tell_sample(2000, ONE);
	assert_samples(0, true);
	tell_sample(1500, TWO);
	tell_raw(1600, TWO);
	assert_samples(2, true);
	records_release(world.records, false);
	assert_samples(2, true);
	tables.needs[0] = NONE;
	records_release(world.records, false);
	assert_samples(4, false);
	tell_sample(3000, ONE);
	assert_samples(5, false);
	assert_int_equal(thread_of(ONE)->sampled_ns, 3000);
}

/* A stack that needs several tables waits for one after the other, and is not looked at meanwhile. */
static void waits_for_the_next(void **state)
{
	size_t i;

	tables.needs[0] = 7;
	tell_raw(1000, ONE);
	assert_int_equal(tables.tries, 1);
	tables.needs[0] = 8;
	for (i = 0; i < 10; i++)
		records_release(world.records, false);
	assert_int_equal(tables.tries, 2);
	assert_samples(0, true);
	tables.needs[0] = NONE;
	records_release(world.records, false);
	assert_int_equal(tables.tries, 3);
	assert_samples(1, false);
}

static void not_for_long(void **state)
{
	tables.needs[0] = 7;
	tell_raw(1000, ONE);
	now_ns += NS_PER_SEC / 2;
	tell_raw(2000, ONE);
	records_release(world.records, false);
	assert_samples(0, true);
	now_ns += NS_PER_SEC / 2;
	records_release(world.records, false);
	assert_samples(1, true);
	now_ns += NS_PER_SEC / 2;
	records_release(world.records, false);
	assert_samples(2, false);
}

static void all_at_the_end(void **state)
{
	tables.needs[0] = tables.needs[1] = 7;
	tell_raw(1000, ONE);
	tell_raw(1000, TWO);
	tell_sample(2000, ONE);
	records_release(world.records, true);
	assert_samples(3, false);
	tell_raw(3000, ONE); /* what is left is freed */
	assert_samples(3, true);
}

/* Of too many the first go as they are: none is lost, and there is a bound of bytes. */
static void too_many(void **state)
{
	static union {
		struct gb_sample sample;
		char bytes[LARGEST];
	} raw;
	const size_t count = 4 * (16u << 20) / LARGEST;
	size_t i;

	tables.needs[0] = 7;
	raw.sample = make_raw(0, ONE).sample;
	raw.sample.runs[0].words = 0;
	raw.sample.runs[1].words = GB_RAW_REGS + GB_RAW_STACK_WORDS;
	raw.sample.hdr.size = LARGEST;
	for (i = 0; i < count; i++) {
		raw.sample.hdr.time_ns = 1000 * (i + 1);
		records_apply(world.records, &raw, LARGEST);
		assert_true((i + 1 - counts()->samples) * LARGEST <= 16u << 20);
	}
	assert_true(counts()->samples > count / 2);
	assert_int_equal(thread_of(ONE)->sampled_ns, 1000 * counts()->samples); /* in order */
	records_release(world.records, true);
	assert_samples(count, false);
}

/* What there is no memory to hold goes as it is. */
static void no_memory(void **state)
{
	size_t n, failed = 0;

	tables.needs[0] = 7;
	tell_sample(500, ONE);
	for (n = 1; n < 10; n++) {
		alloc_fail_at(n);
		tell_raw(1000 * n, ONE);
		failed += alloc_fail_stop();
	}
	assert_true(failed > 0);
	records_release(world.records, true);
	assert_samples(10, false);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(waits_for_a_table), FRESH(waits_for_the_next), FRESH(not_for_long),
		FRESH(all_at_the_end),    FRESH(too_many),           FRESH(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
