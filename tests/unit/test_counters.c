/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording counted, as facts by name: all rows, those of streams, and those that are told only if there is something to tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/source.h"
#include "capture/sources.h"
#include "format/panel.h"
#include "recording/fact_list.h"
#include "session/counters.h"

#include "alloc.h"

static struct sources *sources;

static int setup(void **state)
{
	static const struct source_config config = {.period_ns = 1};

	return sources_open(&sources, source_table, &config);
}

static int teardown(void **state)
{
	sources_close(sources);
	return 0;
}

static const struct recording_fact *find(const struct fact_list *log, const char *name)
{
	size_t i;

	for (i = 0; i < log->count; i++)
		if (!strcmp(log->items[i].name, name))
			return &log->items[i];
	return NULL;
}

static void has_the_fields(void **state)
{
	struct counters counters = {.sources = sources};
	struct fact_list log = {0};

	counters.kernel[GB_STAT_TICKS] = 9;
	counters.kernel[GB_STAT_SAMPLES] = 1;
	counters.records.samples = 2;
	counters.records.expired.objects = 3;
	counters.tables.files.no_room = 4;
	counters.memory.compression.bytes_out = 5;
	counters.rate_hz = 6;
	counters_log(&counters, &log);
	assert_int_equal(log.error, 0);
	assert_int_equal(find(&log, "timer_ticks")->value, 9); /* its source's */
	assert_int_equal(find(&log, "samples_captured")->value, 1);
	assert_int_equal(find(&log, "samples_recorded")->value, 2);
	assert_int_equal(find(&log, "files_forgotten")->value, 3);
	assert_int_equal(find(&log, "unwind_files_no_room")->value, 4);
	assert_int_equal(find(&log, "buffer_bytes_compressed_to")->value, 5);
	assert_int_equal(find(&log, "sampling_rate_hz")->value, 6);
	fact_list_clear(&log);
}

static void tells_what_there_may_be_if_there_is_any(void **state)
{
	struct counters counters = {.sources = sources};
	struct fact_list log = {0};

	counters_log(&counters, &log);
	assert_null(find(&log, "stream_bytes"));
	assert_null(find(&log, "stream_cpu_ns"));
	assert_null(find(&log, "capture_samples_lost_damaged"));
	assert_null(find(&log, "samples_left_out_at_end"));
	assert_null(find(&log, "unwind_files_code_skipped"));
	assert_null(find(&log, "unwind_bytes_code_skipped"));
	fact_list_clear(&log);
	counters.stream.bytes = 7;
	counters_log(&counters, &log);
	assert_int_equal(find(&log, "stream_bytes")->value, 7);
	assert_int_equal(find(&log, "stream_cpu_ns")->value, 0);
	assert_null(find(&log, "capture_samples_lost_damaged"));
	fact_list_clear(&log);
	counters.stream.damaged = 8;
	counters.tables.files.skipped_files = 9;
	counters.tables.files.skipped_bytes = 10;
	counters_log(&counters, &log);
	assert_int_equal(find(&log, "unwind_files_code_skipped")->value, 9);
	assert_int_equal(find(&log, "unwind_bytes_code_skipped")->value, 10);
	assert_int_equal(find(&log, "capture_samples_lost_damaged")->value, 8);
	fact_list_clear(&log);
}

static void has_each_name_once(void **state)
{
	struct counters counters = {.sources = sources, .stream = {1, 1, 1}};
	struct fact_list log = {0};
	size_t i;

	counters_log(&counters, &log);
	assert_true(log.count > 40);
	for (i = 0; i < log.count; i++)
		assert_ptr_equal(find(&log, log.items[i].name), &log.items[i]);
	fact_list_clear(&log);
}

/* What is lost is told in words, by every format. */
static void has_words_for_losses(void **state)
{
	static const char *const losses[] = {"lost",         "left_out", "overwritten", "missed",
					     "not_followed", "bad",      "no_room"};
	struct counters counters = {.sources = sources, .stream = {1, 1, 1}};
	struct fact_list log = {0};
	size_t i, loss, count = 0;

	counters.left_out.samples = counters.left_out.events = counters.left_out.bytes = 1;
	counters_log(&counters, &log);
	for (i = 0; i < log.count; i++)
		for (loss = 0; loss < sizeof(losses) / sizeof(losses[0]); loss++)
			if (strstr(log.items[i].name, losses[loss]) &&
			    strcmp(log.items[i].name, "bytes_left_out_at_end") != 0) {
				if (!panel_words(log.items[i].name))
					fail_msg("%s", log.items[i].name);
				count++;
			}
	assert_true(count > 10);
	fact_list_clear(&log);
}

/* Each cause has a counter of its own, which is told by its name in the table of causes; the sums are of all of a kind. */
static void tells_losses_by_their_causes(void **state)
{
	struct counters counters = {
		.sources = sources,
		.samples_lost_recursion = 2,
		.events_lost_recursion = 3,
		.records = {.put_failed = 4, .bad_records = 5},
		.records_lost_memory = 6,
		.left_out = {.samples = 7, .events = 8},
		.mappings_lost = 9,
	};
	uint64_t counts[LOSS_CAUSE_COUNT];
	struct fact_list log = {0};
	unsigned int cause, k;

	counters.kernel[GB_STAT_RING_FULL] = 10;
	counters.kernel[GB_STAT_CONTROL_FULL] = 11;
	counters.kernel[GB_STAT_TARGETS_FULL] = 12;
	counters.ticks_missed_other = 13;
	counters.kernel[GB_STAT_TICKS_MISSED_OWN] = 14;
	counters.kernel[GB_STAT_TICKS_MISSED_THROTTLED] = 15;
	counters_losses(&counters, counts);
	counters_log(&counters, &log);
	for (cause = 0; cause < LOSS_CAUSE_COUNT; cause++) {
		if (cause == LOSS_UNKNOWN || cause == LOSS_STREAM) {
			assert_int_equal(counts[cause], 0);
			continue;
		}
		assert_true(counts[cause] >= 2);
		for (k = 0; k < cause; k++)
			assert_true(counts[cause] != counts[k]);
		assert_int_equal(find(&log, loss_words[cause].counter)->value, counts[cause]);
	}
	assert_non_null(find(&log, loss_words[LOSS_STREAM].counter));
	fact_list_clear(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_fields),
		cmocka_unit_test(tells_what_there_may_be_if_there_is_any),
		cmocka_unit_test(has_each_name_once),
		cmocka_unit_test(has_words_for_losses),
		cmocka_unit_test(tells_losses_by_their_causes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
