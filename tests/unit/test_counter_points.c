/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of processes, from their records to the points that formats are told: in parts of a recording, and in each format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <linux/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/output.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "format/format.h"
#include "geckobpf_abi.h"
#include "profile/counter.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "recording/records.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define ARCH "any"
#define PATH "/tmp/test_counter_points.json"

int main(void);

#include "profile_fixture.h"

/* ---- a sink that writes points down ----------------------------------------------------------- */

struct sink {
	struct profile_sink sink;
	const struct profile_process *process;
	int64_t value;
	FILE *out;
};

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	((struct sink *)sink)->process = process;
	((struct sink *)sink)->value = 0;
	return 0;
}

static int begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	return 0;
}

static int add_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	return 0;
}

/* What the points add up to. */
static int add_point(struct profile_sink *sink, const struct profile_point *point)
{
	struct sink *to = (struct sink *)sink;

	to->value += point->change;
	fprintf(to->out, "%u.%u %" PRIu64 ": %" PRId64 "\n", to->process->process->tgid,
		to->process->process->life, (uint64_t)(point->time_ns / MS), to->value);
	return 0;
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	return 0;
}

static int end(struct profile_sink *sink, const struct profile_summary *summary)
{
	return 0;
}

static const struct profile_sink_ops ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.point = add_point,
	.end_process = end_process,
	.end = end,
};

static void expect(const struct recording_facts *of, const struct profile_filter *filter,
		   const char *expected)
{
	struct profile_summary summary = {0};
	struct profile_input input = {.recording.facts = of, .recording.processes = processes};
	struct sink sink = {.sink.ops = &ops};
	size_t size;
	char *text;

	sink.out = open_memstream(&text, &size);
	assert_non_null(sink.out);
	if (filter)
		input.filter = *filter;
	assert_int_equal(profile_walk(&input, &sink.sink, &summary), 0);
	profile_summary_clear(&summary);
	fclose(sink.out);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- the root, which has samples at 10, 50, 51 and 60 ms ------------------------------------- */

static struct process *root(void)
{
	return processes_find(processes, 4242, 4242, 0);
}

static void put_value(struct process *process, uint64_t time_ns, int64_t value)
{
	const struct counter_entry entry = {GB_COUNTER_MEMORY, time_ns, value};

	assert_int_equal(profile_buffer_put_counter(process->buffer, &entry), 0);
}

/* Those of before the recording, and of its end, when all are listed, are at its ends. */
static void add_values(void)
{
	put_value(root(), 900 * MS, 1000);
	put_value(root(), 1100 * MS, 5000);
	put_value(root(), 1105 * MS, 5000);
	put_value(root(), 1103 * MS, 1); /* too late */
	put_value(root(), 1108 * MS, 9000);
	put_value(root(), 1500 * MS, 9000);
	put_value(root(), 1600 * MS, -3);
	put_value(root(), 2001 * MS, 4000);
}

static void what_there_was(void **state)
{
	add_values();
	expect(&facts, NULL,
	       "4242.0 0: 0\n4242.0 0: 1000\n4242.0 99: 1000\n4242.0 100: 5000\n4242.0 108: 9000\n"
	       "4242.0 599: 9000\n4242.0 600: -3\n4242.0 999: -3\n4242.0 1000: 4000\n");
}

static void until_the_end(void **state)
{
	put_value(root(), 1100 * MS, 5000);
	root()->died_ns = 1900 * MS;
	expect(&facts, NULL, "4242.0 100: 0\n4242.0 100: 5000\n4242.0 900: 5000\n");
}

/* A part begins with the value at its beginning, also where nothing changes in it. */
static void of_a_time(void **state)
{
	const struct profile_filter middle = {.from_ns = 40 * MS, .to_ns = 107 * MS},
				    late = {.from_ns = 55 * MS, .to_ns = 80 * MS},
				    none = {.from_ns = 900 * MS, .process = "77"};
	struct recording_facts cut = facts;

	add_values();
	expect(&facts, &middle,
	       "4242.0 40: 0\n4242.0 40: 1000\n4242.0 99: 1000\n4242.0 100: 5000\n"
	       "4242.0 107: 5000\n");
	expect(&facts, &late, "4242.0 55: 0\n4242.0 55: 1000\n4242.0 80: 1000\n");
	expect(&facts, &none, "");
	cut.is_cut = true;
	cut.start_ns = 1040 * MS;
	cut.until_ns = 1107 * MS;
	expect(&cut, NULL,
	       "4242.0 0: 0\n4242.0 0: 1000\n4242.0 59: 1000\n4242.0 60: 5000\n4242.0 67: 5000\n");
}

/* Where another process is one as well, a memory of its own. */
static void of_each_process(void **state)
{
	struct process *next = processes_find(processes, 4242, 4242, 1);

	add_values();
	put_value(next, 1905 * MS, 70);
	expect(&facts, &(struct profile_filter){.from_ns = 890 * MS, .process = "4242.1"},
	       "4242.1 905: 0\n4242.1 905: 70\n4242.1 950: 70\n");
}

/* Of what adds up only what came is told; less than before is what was told twice, until it is made up for. */
static void amounts(void **state)
{
	const uint64_t times_ms[] = {1010, 1100, 1101, 1102, 1105, 1500};
	const int64_t values[] = {500, 510, 505, 509, 530, 531};
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(profile_buffer_put_counter(
					 root()->buffer,
					 &(struct counter_entry){GB_COUNTER_DISK_READ,
								 times_ms[i] * MS, values[i]}),
				 0);
	expect(&facts, NULL,
	       "4242.0 10: 0\n4242.0 99: 0\n4242.0 100: 10\n4242.0 105: 30\n4242.0 499: 30\n"
	       "4242.0 500: 31\n4242.0 1000: 31\n");
	expect(&facts, &(struct profile_filter){.from_ns = 40 * MS, .to_ns = 103 * MS},
	       "4242.0 40: 0\n4242.0 99: 0\n4242.0 100: 10\n4242.0 103: 10\n");
}

/* ---- records ----------------------------------------------------------------------------------- */

static struct gb_counter_event event_of(uint32_t tgid, uint64_t time_ns, int64_t value)
{
	return (struct gb_counter_event){
		.hdr = {.kind = GB_RECORD_COUNTER,
			.size = sizeof(struct gb_counter_event),
			.time_ns = time_ns},
		.task = {.tgid = tgid, .tid = tgid, .start_ns = tgid, .group_start_ns = tgid},
		.counter = GB_COUNTER_MEMORY,
		.value = value,
	};
}

/* What was told before the first sample made a buffer is kept: the latest of it. Wrong ones are counted. */
static void from_records(void **state)
{
	struct records_config config = {.processes = processes, .memory = memory};
	struct gb_counter_event event = event_of(99, 1010 * MS, 7);
	struct gb_sample sample = {
		.hdr = {.kind = GB_RECORD_SAMPLE, .size = sizeof(sample), .time_ns = 1020 * MS},
		.task = event.task,
		.weight = 1,
	};
	struct records *records;
	struct process *silent = processes_find(processes, 99, 99, 0);

	assert_int_equal(records_open(&records, &config), 0);
	records_apply(records, &event, sizeof(event));
	event.hdr.time_ns = 1012 * MS;
	event.value = 8;
	records_apply(records, &event, sizeof(event));
	assert_null(silent->buffer);
	records_apply(records, &sample, sizeof(sample));
	assert_non_null(silent->buffer);
	buffers[buffer_count++] = silent->buffer;
	event.hdr.time_ns = 1013 * MS;
	event.value = 9;
	records_apply(records, &event, sizeof(event));
	event.counter = GB_COUNTER_COUNT;
	records_apply(records, &event, sizeof(event));
	event.hdr.size = 8;
	records_apply(records, &event, 8);
	assert_int_equal(records_counts(records)->bad_records, 2);
	records_close(records);
	expect(&facts, &(struct profile_filter){.process = "99"},
	       "99.0 12: 0\n99.0 12: 8\n99.0 13: 9\n99.0 1000: 9\n");
	assert_int_equal(profile_buffer_get_state(silent->buffer).pushed, 3);
	assert_int_equal(profile_buffer_get_state(silent->buffer).samples_pushed, 1);
}

/* Sums of what is told; they begin with 0 when counting began, also where that is before the first sample. */
static void amounts_from_records(void **state)
{
	struct records_config config = {.processes = processes, .memory = memory};
	struct gb_amounts_event event = {
		.hdr = {.kind = GB_RECORD_AMOUNTS, .size = sizeof(event), .time_ns = 1012 * MS},
		.task = {.tgid = 98, .tid = 98, .start_ns = 98, .group_start_ns = 98},
		.since_ns = 1005 * MS,
	};
	__s64 *read = &event.amounts[GB_COUNTER_DISK_READ - GB_COUNTER_AMOUNTS];
	struct gb_sample sample = {
		.hdr = {.kind = GB_RECORD_SAMPLE, .size = sizeof(sample), .time_ns = 1020 * MS},
		.task = event.task,
		.weight = 1,
	};
	struct records *records;
	struct process *silent;

	assert_int_equal(records_open(&records, &config), 0);
	*read = 4096;
	records_apply(records, &event, sizeof(event));
	silent = processes_find(processes, 98, 98, 0);
	assert_null(silent->buffer);
	event.hdr.time_ns = 1015 * MS;
	*read = 8192;
	records_apply(records, &event, sizeof(event));
	records_apply(records, &sample, sizeof(sample));
	assert_non_null(silent->buffer);
	buffers[buffer_count++] = silent->buffer;
	event.hdr.time_ns = 1030 * MS;
	*read = 1;
	records_apply(records, &event, sizeof(event));
	*read = INT64_MAX;
	records_apply(records, &event, sizeof(event));
	assert_int_equal(records_counts(records)->bad_records, 0);
	event.since_ns = event.hdr.time_ns + 1;
	records_apply(records, &event, sizeof(event));
	assert_int_equal(records_counts(records)->bad_records, 1);
	records_close(records);
	expect(&facts, &(struct profile_filter){.process = "98"},
	       "98.0 5: 0\n98.0 15: 12288\n98.0 29: 12288\n98.0 30: 12289\n98.0 1000: 12289\n");
}

/* ---- formats ------------------------------------------------------------------------------------ */

static void in_each_format(void **state)
{
	static const char *const names[] = {"gecko", "processed"};
	static const char *const said[] = {
		"\"counters\":[{\"name\":\"RSS\",\"category\":\"Memory\","
		"\"description\":\"Memory of the process (resident set size)\","
		"\"samples\":{\"schema\":{\"time\":0,\"count\":1},"
		"\"data\":[[100,0],[100,5000],[1000,0]]}}]",
		"\"counters\":[{\"name\":\"RSS\",\"category\":\"Memory\","
		"\"description\":\"Memory of the process (resident set size)\","
		"\"pid\":\"4242\",\"mainThreadIndex\":0,"
		"\"display\":{\"graphType\":\"line-accumulated\",\"unit\":\"bytes\","
		"\"color\":\"orange\",\"markerSchemaLocation\":null,\"sortWeight\":20,"
		"\"label\":\"Memory\",\"tooltipRows\":["
		"{\"type\":\"value\",\"source\":\"accumulated\",\"format\":{\"unit\":\"bytes\"},"
		"\"label\":\"resident memory at this time\"},"
		"{\"type\":\"value\",\"source\":\"count-range\",\"format\":{\"unit\":\"bytes\"},"
		"\"label\":\"memory range in graph\"}]},"
		"\"samples\":{\"time\":[100,100,1000],\"count\":[0,5000,0],\"length\":3}}]",
	};
	size_t i;

	put_value(root(), 1100 * MS, 5000);
	for (i = 0; i < 2; i++)
		free(document_in(names[i], said[i]));
}

static void no_memory(void **state)
{
	add_values();
	expect_no_memory_is_told();
}

static int open_all(void **state)
{
	strcpy(kallsyms_path, "/tmp/test_points.XXXXXX");
	return setup(state);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_all, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_there_was),       TEST(until_the_end),  TEST(of_a_time),
		TEST(of_each_process),      TEST(amounts),        TEST(from_records),
		TEST(amounts_from_records), TEST(in_each_format), TEST(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
