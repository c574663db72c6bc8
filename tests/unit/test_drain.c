/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain's order and its budget, with rings, a side-band and a clock of the test's own: applying a record takes as long
 * as it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include <cmocka.h>

#include <bpf/libbpf.h>
#include <linux/types.h>

#include "base/clock.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/publish.h"
#include "capture/sideband.h"
#include "geckobpf_abi.h"
#include "recording/records.h"

#include "alloc.h"

#define MAX_RECORDS 20000
#define STEP_NS (100 * NS_PER_MS) /* what a step may take, and a record */
#define LONG_NS (10 * NS_PER_MS) /* what a record takes to be applied */

struct test_record {
	struct gb_record header;
	uint64_t takes_ns;
};

/* ---- what the drain works with ------------------------------------------------------ */

struct ring_buffer {
	ring_buffer_sample_fn take;
	void *context;
	struct test_record records[MAX_RECORDS];
	size_t put, taken;
};

static struct ring_buffer rings[3]; /* by descriptor; the first is for events */
static size_t sample_rings;
static uint64_t now_ns;
static uint64_t applied[MAX_RECORDS]; /* times */
static size_t applied_count, flushed_at, flushes;
static size_t held_for,
	settles; /* samples are held until the publisher was asked so often to settle */
static uint64_t released_at_ns; /* all that were held */

int clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){.tv_sec = (time_t)(now_ns / NS_PER_SEC),
				 .tv_nsec = (long)(now_ns % NS_PER_SEC)};
	return 0;
}

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn take, void *context,
				     const struct ring_buffer_opts *options)
{
	(void)options;
	rings[fd].take = take;
	rings[fd].context = context;
	return &rings[fd];
}

void ring_buffer__free(struct ring_buffer *ring)
{
	(void)ring;
}

int ring_buffer__epoll_fd(const struct ring_buffer *ring)
{
	(void)ring;
	return 0;
}

int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	(void)epoll_fd, (void)operation, (void)fd, (void)event;
	return 0;
}

/* What the callback refuses to go on after was taken nevertheless. */
int ring_buffer__consume(struct ring_buffer *ring)
{
	int count = 0, err;

	for (; ring->taken < ring->put; count++) {
		struct test_record *record = &ring->records[ring->taken++];

		err = ring->take(ring->context, record, sizeof(*record));
		if (err < 0)
			return err;
	}
	return count;
}

size_t kernel_side_ring_count(const struct kernel_side *kernel)
{
	(void)kernel;
	return sample_rings;
}

int kernel_side_ring_fd(const struct kernel_side *kernel, size_t index)
{
	(void)kernel;
	return (int)index + 1;
}

int kernel_side_control_fd(const struct kernel_side *kernel)
{
	(void)kernel;
	return 0;
}

int kernel_side_list_tasks(struct kernel_side *kernel,
			   void (*take)(void *context, const void *record, size_t size),
			   void *context)
{
	(void)kernel, (void)take, (void)context;
	return 0;
}

void sideband_read(struct sideband *sideband, sideband_take take, void *context)
{
	(void)sideband, (void)take, (void)context;
}

int sideband_watch(struct sideband *sideband, int epoll_fd)
{
	(void)sideband, (void)epoll_fd;
	return 0;
}

int sideband_update(struct sideband *sideband)
{
	(void)sideband;
	return 0;
}

int publisher_flush(struct publisher *publisher, bool may_wait)
{
	(void)publisher, (void)may_wait;
	flushes++;
	flushed_at = applied_count;
	return 0;
}

int publisher_settle(struct publisher *publisher, uint64_t limit_ns)
{
	(void)publisher;
	now_ns += limit_ns;
	settles++;
	return 0;
}

bool records_hold_samples(const struct records *records)
{
	(void)records;
	return settles < held_for;
}

void records_release(struct records *records, bool all)
{
	(void)records;
	if (all)
		released_at_ns = now_ns;
}

enum record_order records_order(const struct records *records, const void *record, size_t size)
{
	const struct gb_record *header = record;

	(void)records, (void)size;
	return header->kind == GB_RECORD_TASK  ? RECORD_IN_ORDER
	       : header->kind == GB_RECORD_RAW ? RECORD_AFTER_EARLIER
					       : RECORD_AT_ONCE;
}

void records_apply(struct records *records, const void *record, size_t size)
{
	const struct test_record *test_record = record;

	(void)records, (void)size;
	applied[applied_count++] = test_record->header.time_ns;
	now_ns += test_record->takes_ns;
}

void records_call_roll(struct records *records)
{
	(void)records;
}

void records_end_roll(struct records *records, uint64_t time_ns)
{
	(void)records, (void)time_ns;
}

/* ---- tests ---------------------------------------------------------------------------- */

static struct drain *drain;

static int open_drain(size_t ring_count)
{
	int publisher; /* only whether there is one counts */

	memset(rings, 0, sizeof(rings));
	sample_rings = ring_count;
	now_ns = NS_PER_SEC;
	applied_count = flushes = flushed_at = held_for = settles = 0;
	return drain_open(&drain, NULL, NULL, NULL, (struct publisher *)&publisher, -1);
}

static void put(size_t ring, enum gb_record_kind kind, uint64_t time_ns, uint64_t takes_ns)
{
	struct test_record *record = &rings[ring].records[rings[ring].put++];

	*record = (struct test_record){.takes_ns = takes_ns};
	record->header.kind = kind;
	record->header.size = sizeof(*record);
	record->header.time_ns = time_ns;
}

/* `count` records, a microsecond apart, the first at `time_ns`. */
static void put_many(size_t ring, enum gb_record_kind kind, size_t count, uint64_t time_ns,
		     uint64_t takes_ns)
{
	size_t i;

	for (i = 0; i < count; i++)
		put(ring, kind, time_ns + i * NS_PER_US, takes_ns);
}

static void expect_in_order(size_t from, size_t to)
{
	size_t i;

	for (i = from + 1; i < to; i++)
		assert_true(applied[i - 1] <= applied[i]);
}

static void a_step_ends_in_time(void **state)
{
	uint64_t began_ns;
	size_t steps;

	(void)state;
	assert_int_equal(open_drain(1), 0);
	put_many(0, GB_RECORD_TASK, 1000, 1, LONG_NS);
	put_many(1, GB_RECORD_SAMPLE, 1000, 1, LONG_NS);
	for (steps = 0; !steps || drain_is_behind(drain); steps++) {
		began_ns = now_ns;
		assert_int_equal(drain_run(drain), 0);
		/* BUDGET_PARTS records go by between two looks at the clock, for events and for samples. */
		assert_true(now_ns - began_ns <= STEP_NS + 2 * 16 * LONG_NS);
		assert_true(steps < 1000);
	}
	assert_int_equal(applied_count, 2000);
	assert_true(steps > 10);
	drain_close(drain);
}

static void events_do_not_starve_samples(void **state)
{
	(void)state;
	assert_int_equal(open_drain(1), 0);
	put_many(0, GB_RECORD_TASK, 1000, 1, LONG_NS);
	put_many(1, GB_RECORD_SAMPLE, 10, 1, 0);
	assert_int_equal(drain_run(drain), 0);
	assert_true(drain_is_behind(drain));
	assert_int_equal(rings[1].taken, 10);
	drain_close(drain);
}

static void each_ring_has_its_turn(void **state)
{
	(void)state;
	assert_int_equal(open_drain(2), 0);
	put_many(1, GB_RECORD_SAMPLE, 1000, 1, LONG_NS);
	put_many(2, GB_RECORD_SAMPLE, 1000, 1, LONG_NS);
	assert_int_equal(drain_run(drain), 0);
	assert_int_equal(drain_run(drain), 0);
	assert_true(rings[1].taken > 0);
	assert_int_equal(rings[1].taken, rings[2].taken);
	drain_close(drain);
}

/* More of them than are read at a time: those that were read are not taken for all there are. */
static void events_are_applied_by_time(void **state)
{
	size_t i, count = 15000;

	(void)state;
	assert_int_equal(open_drain(1), 0);
	/* Neighbours in the ring are up to 100 microseconds out of step. */
	for (i = 0; i < count; i++)
		put(0, GB_RECORD_TASK, NS_PER_MS + (i ^ 63) * NS_PER_US, 0);
	assert_int_equal(drain_run(drain), 0);
	assert_int_equal(applied_count, count);
	expect_in_order(0, count);
	assert_int_equal(flushed_at, count);
	drain_close(drain);
}

static void those_of_the_last_moment_wait(void **state)
{
	(void)state;
	assert_int_equal(open_drain(1), 0);
	put(0, GB_RECORD_TASK, now_ns - NS_PER_MS, 0);
	put(0, GB_RECORD_TASK, now_ns, 0);
	assert_int_equal(drain_run(drain), 0);
	assert_int_equal(applied_count, 1);
	assert_true(drain_is_pending(drain));
	assert_false(drain_is_behind(drain));
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_int_equal(applied_count, 2);
	assert_int_equal(drain_get_left_out(drain)->bytes, 0);
	drain_close(drain);
}

/* All that happened before it is applied and published, and nothing else. */
static void a_raw_sample_waits_for_events(void **state)
{
	const size_t count = 9000;

	(void)state;
	assert_int_equal(open_drain(1), 0);
	put(1, GB_RECORD_RAW, 2 * NS_PER_SEC, 0);
	put_many(0, GB_RECORD_TASK, count, NS_PER_SEC + NS_PER_MS, 0); /* none is due */
	put_many(0, GB_RECORD_TASK, 5, 3 * NS_PER_SEC, 0);
	assert_int_equal(drain_run(drain), 0);
	assert_int_equal(applied_count, count + 1);
	expect_in_order(0, count + 1);
	assert_int_equal(flushed_at, count);
	drain_close(drain);
}

static void the_end_comes_in_time(void **state)
{
	const struct drain_left_out *left_out;
	const uint64_t began_ns = NS_PER_SEC;
	size_t events, samples;

	(void)state;
	assert_int_equal(open_drain(2), 0);
	left_out = drain_get_left_out(drain);
	put_many(0, GB_RECORD_TASK, 2000, 1000, LONG_NS);
	put_many(1, GB_RECORD_SAMPLE, 2000, 2000, LONG_NS);
	put_many(2, GB_RECORD_RAW, 2000, 2000, LONG_NS);
	put(0, GB_RECORD_WAKE, 0, 0);
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_true(now_ns - began_ns <= NS_PER_SEC + STEP_NS + 2 * 16 * LONG_NS);
	events = left_out->events;
	samples = left_out->samples;
	assert_int_equal(applied_count + events + samples, 6000);
	assert_true(samples > 0 && applied_count > 50);
	assert_int_equal(left_out->bytes, (events + samples) * sizeof(struct test_record));
	assert_true(left_out->since_ns >= 1000 && left_out->since_ns <= 4000 * NS_PER_US);
	drain_close(drain);
}

/* Tables and mappings for programs that are gone are not waited for; a raw sample's are. */
static void the_end_publishes_for_raw_samples_alone(void **state)
{
	(void)state;
	assert_int_equal(open_drain(1), 0);
	put_many(0, GB_RECORD_TASK, 10, 1, 0);
	put(1, GB_RECORD_SAMPLE, 100, 0);
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_int_equal(flushes, 0);
	put_many(0, GB_RECORD_TASK, 10, 1, 0);
	put(1, GB_RECORD_RAW, NS_PER_SEC, 0);
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_int_equal(flushes, 1);
	assert_int_equal(flushed_at, 21);
	drain_close(drain);
}

/* What waits for tables at the end is waited for, but not for ever. */
static void the_end_waits_for_tables(void **state)
{
	(void)state;
	assert_int_equal(open_drain(1), 0);
	held_for = 3;
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_int_equal(settles, 3);
	held_for = SIZE_MAX;
	assert_int_equal(drain_finish(drain, NS_PER_SEC), 0);
	assert_int_equal(released_at_ns, now_ns);
	assert_true(now_ns < 3 * NS_PER_SEC);
	drain_close(drain);
}

static int open_and_close(void *context)
{
	int err = open_drain(2);

	(void)context;
	if (!err)
		drain_close(drain);
	return err;
}

static void without_memory(void **state)
{
	(void)state;
	assert_true(alloc_fail_each(open_and_close, NULL) > 0);
	assert_int_equal(open_drain(1), 0);
	put(0, GB_RECORD_TASK, 1, 0);
	alloc_fail_at(1);
	assert_int_equal(drain_run(drain), 0);
	assert_true(alloc_fail_stop());
	assert_int_equal(drain_lost(drain), 1);
	drain_close(drain);
	drain_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_ends_in_time),
		cmocka_unit_test(events_do_not_starve_samples),
		cmocka_unit_test(each_ring_has_its_turn),
		cmocka_unit_test(events_are_applied_by_time),
		cmocka_unit_test(those_of_the_last_moment_wait),
		cmocka_unit_test(a_raw_sample_waits_for_events),
		cmocka_unit_test(the_end_comes_in_time),
		cmocka_unit_test(the_end_publishes_for_raw_samples_alone),
		cmocka_unit_test(the_end_waits_for_tables),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
