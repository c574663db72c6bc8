/* SPDX-License-Identifier: BSD-2-Clause */
/* test_times.c - times in a profile are those of the records, to the nanosecond, however long the machine is up and the recording lasts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <linux/types.h>
#include <unistd.h>

#include "alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "target/process.h"

#define PATH "/tmp/test_times.json"
#define WEEK_NS (7 * 24 * 3600 * NS_PER_SEC)

/* Since the start, ascending. Milliseconds as doubles still tell nanoseconds apart at all but the last four, which are longer than 2^33 ms, 99 days. */
static const uint64_t offsets_ns[] = {
	0,
	1,
	999999,
	1000000,
	1000001,
	16666667,
	123456789,
	123456790,
	999999999,
	1000000000,
	4294967295,
	4294967296,
	4294967297,
	3600 * NS_PER_SEC + 7,
	WEEK_NS - 1,
	WEEK_NS,
	WEEK_NS + 123456789,
	(1ULL << 52) + 1,
	8 * WEEK_NS + 1000003,
	8 * WEEK_NS + 1000004,
	(NS_PER_MS << 33) - 1,
	(1ULL << 53) - 1,
	(1ULL << 53) + 1,
	(1ULL << 53) + 1000003,
	52 * WEEK_NS + 999999,
};
#define OFFSETS (sizeof(offsets_ns) / sizeof(offsets_ns[0]))
#define EXACT_OFFSETS (OFFSETS - 4)

static const uint64_t starts_ns[] = {
	0,
	1,
	1000000007,
	3 * WEEK_NS + 1,
	(1ULL << 53) - 1,
	(1ULL << 53) + 1,
	104 * WEEK_NS + 999983,
};
#define STARTS (sizeof(starts_ns) / sizeof(starts_ns[0]))

/* ---- a recording ------------------------------------------------------------------------- */

static struct processes *processes;
static struct profile_memory *memory;
static struct process *process;

static int setup(void **state)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	const struct gb_task task = {.tgid = 42, .tid = 42, .start_ns = 1, .group_start_ns = 1};
	struct thread *thread;

	if (processes_open(&processes) || profile_memory_open(&memory, &config) ||
	    processes_thread(processes, &task, &thread))
		return -1;
	thread->cpu_first_ns = UINT64_MAX;
	process = thread->process;
	process->is_root = true;
	return 0;
}

static int teardown(void **state)
{
	profile_buffer_close(process->buffer);
	processes_close(processes);
	profile_memory_close(memory);
	return 0;
}

static void put_samples(uint64_t start_ns)
{
	const struct profile_buffer_config config = {
		.memory = memory,
		.process_id = 42,
	};
	const struct frame frame = {.value = 0x1000};
	struct sample_entry sample = {.weight = 1, .frames = &frame, .frame_count = 1};
	size_t i;

	profile_buffer_close(process->buffer);
	process->buffer = NULL;
	assert_int_equal(profile_buffer_open(&process->buffer, &config), 0);
	for (i = 0; i < OFFSETS; i++) {
		sample.time_ns = start_ns + offsets_ns[i];
		assert_int_equal(profile_buffer_put_sample(process->buffer, &sample), 0);
	}
}

/* The profile, the caller's to free. */
static char *make_profile(uint64_t start_ns)
{
	static const char *const none[] = {NULL};
	const struct recording_facts facts = {
		.start_real_ns = 1767225600123456789,
		.start_ns = start_ns,
		.end_ns = start_ns + offsets_ns[OFFSETS - 1],
		.interval_ns = NS_PER_MS,
		.threads = none,
		.features = none,
	};
	const struct profile_input input = {.recording.facts = &facts,
					    .recording.processes = processes};
	struct profile_summary summary = {0};
	struct output *output;
	char *text;

	put_samples(start_ns);
	assert_int_equal(output_open(&output, PATH, NULL), 0);
	assert_int_equal(format_write(NULL, &input, output, &summary), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	assert_int_equal(summary.samples, OFFSETS);
	profile_summary_clear(&summary);
	assert_int_equal(fd_read_file(PATH, &text, NULL), 0);
	unlink(PATH);
	return text;
}

/* ---- tests --------------------------------------------------------------------------------- */

/* As any reader of JSON has them: doubles. */
static void test_as_numbers(void **state)
{
	size_t start, i;

	for (start = 0; start < STARTS; start++) {
		char *text = make_profile(starts_ns[start]);
		json_t *profile = json_loads(text, 0, NULL), *thread, *rows;

		assert_non_null(profile);
		thread = json_array_get(json_object_get(profile, "processes"), 0);
		thread = json_array_get(json_object_get(thread, "threads"), 0);
		rows = json_object_get(json_object_get(thread, "samples"), "data");
		assert_int_equal(json_array_size(rows), OFFSETS);
		for (i = 0; i < EXACT_OFFSETS; i++) {
			const json_t *time_ms = json_array_get(json_array_get(rows, i), 1);

			assert_true(json_is_number(time_ms));
			assert_int_equal((uint64_t)(1e6L * json_number_value(time_ms) + 0.5L),
					 offsets_ns[i]);
		}
		json_decref(profile);
		free(text);
	}
}

/* Nanoseconds of milliseconds with at most 6 decimals, none of them a zero behind; `*end` is what follows. */
static uint64_t parse_ms(const char *text, const char **end)
{
	uint64_t ns = 0, unit_ns = NS_PER_MS;

	assert_in_range(*text, '0', '9');
	for (; *text >= '0' && *text <= '9'; text++)
		ns = ns * 10 + (uint64_t)(*text - '0') * NS_PER_MS;
	if (*text == '.') {
		for (text++; *text >= '0' && *text <= '9'; text++) {
			assert_in_range(unit_ns, 10, NS_PER_MS);
			unit_ns /= 10;
			ns += (uint64_t)(*text - '0') * unit_ns;
		}
		assert_in_range(text[-1], '1', '9');
	}
	*end = text;
	return ns;
}

/* As they are written, without any rounding: also those that no double holds. */
static void test_as_text(void **state)
{
	size_t start, i;

	for (start = 0; start < STARTS; start++) {
		char *text = make_profile(starts_ns[start]);
		const char *at = strstr(text, "\"samples\":");

		assert_non_null(at);
		at = strstr(at, "\"data\":[");
		assert_non_null(at);
		at += strlen("\"data\":[");
		for (i = 0; i < OFFSETS; i++) {
			assert_memory_equal(at, "[0,", 3);
			assert_int_equal(parse_ms(at + 3, &at), offsets_ns[i]);
			assert_memory_equal(at, ",0,0]", 5);
			at += 5;
			assert_int_equal(*at++, i + 1 < OFFSETS ? ',' : ']');
		}
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_numbers),
		cmocka_unit_test(test_as_text),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
