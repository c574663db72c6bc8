/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that mean nothing are counted, and nothing else comes of them. */
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

/* ---- records that mean nothing -------------------------------------------------------------------------------- */

static void assert_bad(const void *record, size_t size)
{
	uint64_t before = counts()->bad_records;
	char *exact = malloc(size ? size : 1); /* a read beyond its end is found */

	assert_non_null(exact);
	memcpy(exact, record, size);
	records_apply(world.records, exact, size);
	free(exact);
	assert_int_equal(counts()->bad_records, before + 1);
}

static void test_bad_headers(void **state)
{
	struct gb_task_event event = event_of(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	size_t size;
	uint32_t kind;

	/* Earlier versions sent less: up to there is what every event has. */
	for (size = 0; size < offsetof(struct gb_task_event, max_rss_bytes); size++) {
		assert_bad(&event, size); /* another size than it says */
		event.hdr.size = (uint32_t)size;
		assert_bad(&event, size); /* too short for its kind */
		event.hdr.size = sizeof(event);
	}
	for (kind = 0; kind <= UINT16_MAX; kind++) {
		if ((kind >= GB_RECORD_SAMPLE && kind <= GB_RECORD_RAW) ||
		    kind == GB_RECORD_COUNTER || kind == GB_RECORD_AMOUNTS)
			continue; /* RECORD_MAP and RECORD_IMAGE are in between */
		event.hdr.kind = (uint16_t)kind;
		assert_bad(&event, sizeof(event));
	}
	assert_int_equal(processes_count(world.processes), 0);
}

static void test_bad_events(void **state)
{
	static const uint32_t whats[] = {0, GB_TASK_EXIT + 1, UINT32_MAX};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct gb_task_event event = event_of(whats[i], 1, task(10, 10, 0), "a");

		assert_bad(&event, sizeof(event));
	}
	assert_int_equal(processes_count(world.processes), 0);
}

static void check_bad_samples(struct sample_bytes good)
{
	struct sample_bytes bad = good;

	bad.sample.runs[1].words++;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.runs[1].words -= 2;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.runs[1].words = 65535;
	bad.sample.runs[0].words = 65535;
	assert_bad(&bad, bad.sample.hdr.size);
	bad = good;
	bad.sample.hdr.size += 4;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.hdr.size = sizeof(struct gb_sample) - 8;
	assert_bad(&bad, bad.sample.hdr.size);
	bad = good;
	bad.sample.user_end = GB_STACK_END_COUNT;
	assert_bad(&bad, bad.sample.hdr.size);
	bad.sample.user_end = UINT8_MAX;
	assert_bad(&bad, bad.sample.hdr.size);
}

static void test_bad_samples(void **state)
{
	check_bad_samples(make_sample(30, task(10, 10, 0)));
	check_bad_samples(make_raw(30, task(10, 10, 0)));
	assert_int_equal(processes_count(world.processes), 0);
	assert_int_equal(counts()->samples, 0);
}

struct map_bytes {
	struct map_record map;
	char path[8];
};

static void test_bad_maps(void **state)
{
	const struct map_bytes good = {
		.map = {.hdr = {.kind = RECORD_MAP, .size = sizeof(struct map_record) + 3},
			.tgid = 10,
			.start = 1,
			.end = 2},
		.path = "/a",
	};
	struct map_bytes bad = good;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	bad.path[2] = 'x'; /* no NUL */
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.end = bad.map.start;
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.build_id.size = BUILD_ID_MAX_BYTES + 1;
	assert_bad(&bad, bad.map.hdr.size);
	bad = good;
	bad.map.hdr.size = sizeof(struct map_record); /* no path */
	assert_bad(&bad, bad.map.hdr.size);
	bad.map.hdr.kind = RECORD_IMAGE;
	bad.map.hdr.size--;
	assert_bad(&bad, bad.map.hdr.size);
	assert_int_equal(image_of(10, 0)->space.count, 0);
	records_apply(world.records, &good, good.map.hdr.size);
	assert_int_equal(image_of(10, 0)->space.count, 1);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup_world, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(test_bad_headers),
		FRESH(test_bad_events),
		FRESH(test_bad_samples),
		FRESH(test_bad_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
