/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writing of a profile says of itself: progress by the bytes of each process's buffer, and the profileGatheringLog. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "cmd/progress_text.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "target/process.h"

#include "alloc.h"

#define PATH "/tmp/test_profile_making.json"
#define MANY 30
#define FEW 10

static uint64_t fake_now, fake_first;
static struct processes *processes;
static struct profile_memory *memory;
static struct profile_buffer *buffers[2];

/* Every look is 100 ms after the one before. */
static uint64_t fake_clock(void)
{
	fake_now += 100 * NS_PER_MS;
	return fake_now;
}

static struct profile_buffer *fill(uint32_t tgid, unsigned int samples)
{
	const struct gb_task task = {.tgid = tgid, .tid = tgid};
	const struct profile_buffer_config config = {memory, tgid, 0};
	struct sample_entry entry = {.weight = 1};
	struct thread *thread;

	assert_int_equal(processes_thread(processes, &task, &thread), 0);
	assert_int_equal(profile_buffer_open(&thread->process->buffer, &config), 0);
	for (; samples; samples--) {
		entry.time_ns += NS_PER_MS;
		assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &entry), 0);
	}
	return thread->process->buffer;
}

static int setup(void **state)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20, .cache_bytes = 1 << 16};

	assert_int_equal(processes_open(&processes), 0);
	assert_int_equal(profile_memory_open(&memory, &config), 0);
	buffers[0] = fill(5, MANY);
	buffers[1] = fill(6, FEW);
	return 0;
}

static int teardown(void **state)
{
	profile_buffer_close(buffers[0]);
	profile_buffer_close(buffers[1]);
	processes_close(processes);
	profile_memory_close(memory);
	unlink(PATH);
	return 0;
}

static int write_profile(struct progress *progress, struct stages *stages)
{
	static const char *const none[] = {NULL};
	const struct recording_facts facts = {
		.end_ns = NS_PER_SEC,
		.interval_ns = NS_PER_MS,
		.threads = none,
		.features = none,
		.writer_pid = 4711,
	};
	const struct profile_input input = {
		.recording.facts = &facts,
		.recording.processes = processes,
		.progress = progress,
		.stages = stages,
	};
	struct profile_summary summary = {0};
	struct output *output;
	int err;

	err = output_open(&output, PATH, NULL);
	if (err)
		return err;
	err = format_write(NULL, &input, output, &summary);
	if (!err)
		err = output_commit(output);
	output_close(output);
	profile_summary_clear(&summary);
	return err;
}

/* ---- progress ------------------------------------------------------------------------ */

static int write_with_progress(void)
{
	struct progress_view view = {.style = &progress_json, .now_ns = fake_clock};
	struct progress whole, part;
	int err;

	fake_now = NS_PER_SEC;
	progress_begin(&whole, &view, "begin", 1);
	progress_split(&part, &whole, 1, NULL, 1);
	err = write_profile(&part, NULL);
	progress_end(&whole);
	return err;
}

/* Stderr of write_with_progress(). */
static void capture(char *text, size_t size)
{
	int fds[2], saved = dup(STDERR_FILENO), err;
	ssize_t got;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	dup2(fds[1], STDERR_FILENO);
	err = write_with_progress();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	assert_int_equal(err, 0);
	got = read(fds[0], text, size - 1);
	assert_true(got >= 0);
	text[got] = '\0';
	close(fds[0]);
}

static uint64_t work_of(const struct profile_buffer *buffer)
{
	struct profile_buffer_state state = profile_buffer_get_state(buffer);

	return 1 + state.range_end - state.range_start;
}

static void test_progress(void **state)
{
	uint64_t first = work_of(buffers[0]), all = first + work_of(buffers[1]);
	char text[16384], line[64], task[32];
	unsigned int rest = 0, last = 0, whole = 0, reading = 0;
	const char *at;

	capture(text, sizeof(text));
	/* Where the second process begins. */
	snprintf(line, sizeof(line), "{\"progress\":0.%04u,\"task\":\"reading samples\"",
		 (unsigned int)(first * 10000 / all));
	assert_non_null(strstr(text, line));
	for (at = text; *at; at = strchr(at, '\n') + 1) {
		assert_int_equal(whole, 0);
		assert_int_equal(sscanf(at, "{\"progress\":%1u.%4u,\"task\":\"%31[a-z ]\"", &whole,
					&rest, task),
				 3);
		assert_true(whole * 10000 + rest >= last);
		last = whole * 10000 + rest;
		reading += !strcmp(task, "reading samples");
	}
	assert_int_equal(last, 10000);
	assert_true(reading > MANY + FEW);
}

/* ---- the gathering log ------------------------------------------------------------------ */

static json_t *read_stages(void)
{
	json_t *root = json_load_file(PATH, 0, NULL), *list;

	assert_non_null(root);
	list = json_object_get(
		json_object_get(json_object_get(root, "profileGatheringLog"), "4711"), "phases");
	json_incref(list);
	json_decref(root);
	return list;
}

static void test_gathering_log(void **state)
{
	static const char *const names[] = {"before", "reading", "writing", "compressing"};
	struct stages stages = {.now_ns = fake_clock};
	double sum_ms = 0;
	json_t *list, *item;
	size_t i;

	fake_now = NS_PER_SEC;
	stages_enter(&stages, "before");
	fake_first = fake_now;
	assert_int_equal(write_profile(NULL, &stages), 0);
	list = read_stages();
	assert_int_equal(json_array_size(list), 4);
	for (i = 0; i < 4; i++) {
		item = json_array_get(list, i);
		assert_string_equal(json_string_value(json_object_get(item, "name")), names[i]);
		sum_ms += json_number_value(json_object_get(item, "duration_ms"));
		assert_true(json_integer_value(json_object_get(item, "rss_bytes")) > 0);
		assert_true(json_integer_value(json_object_get(item, "peak_rss_bytes")) >=
			    json_integer_value(json_object_get(item, "rss_bytes")));
	}
	/* Entered: before, twice reading and writing, compressing, writing again; 100 ms each. */
	assert_int_equal((int)sum_ms, 700);
	assert_int_equal(stages.items[0].duration_ns, 100 * NS_PER_MS);
	json_decref(list);
}

/* Without stages there is none. */
static void test_no_gathering_log(void **state)
{
	json_t *root;

	assert_int_equal(write_profile(NULL, NULL), 0);
	root = json_load_file(PATH, 0, NULL);
	assert_non_null(root);
	assert_non_null(json_object_get(root, "profilingLog"));
	assert_null(json_object_get(root, "profileGatheringLog"));
	json_decref(root);
}

/* What the log needs memory for, it can do without; the profile cannot. */
static void test_no_memory(void **state)
{
	size_t n, failed = 0;

	for (n = 1;; n++) {
		struct stages stages = {.now_ns = fake_clock};
		int err;

		alloc_fail_at(n);
		err = write_profile(NULL, &stages);
		if (!alloc_fail_stop())
			break;
		assert_true(!err || err == -ENOMEM);
		failed += err != 0;
	}
	assert_true(failed > 10 && failed < n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_gathering_log),
		cmocka_unit_test(test_no_gathering_log),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
