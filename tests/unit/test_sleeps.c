/* SPDX-License-Identifier: BSD-2-Clause */
/* Time off the CPU: the rows of sleeps in both formats, what they are called, and how many are too many. */
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
#include <link.h>
#include <linux/types.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/output.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "format/format.h"
#include "format/sleep_rows.h"
#include "geckobpf_abi.h"
#include "profile/frame_kind.h"
#include "profile/profile.h"
#include "symbol/kernel_symbols.h"
#include "symbol/symbol_files.h"
#include "target/object.h"
#include "target/process.h"

#include "alloc.h"

#define ARCH "x86_64"
#define PATH "/tmp/test_sleeps.json"

int main(void);

#include "profile_fixture.h"

#define FUTEX 202
#define READ 0

static void put_sleep(const struct thread *of, uint64_t time_ns, uint64_t slept_ns, int64_t weight,
		      uint64_t value)
{
	const struct frame frames[] = {{.value = LIB + 0x100}, {value, 0, GB_FRAME_SLEEP}};
	const struct sample_entry entry = {
		.weight = weight,
		.event = GB_EVENT_SLEEP,
		.thread = of->number,
		.user_end = GB_STACK_COMPLETE,
		.time_ns = time_ns,
		.cpu_ns = 3 * MS,
		.slept_ns = slept_ns,
		.frames = frames,
		.frame_count = 2,
	};

	assert_int_equal(profile_buffer_put_sample(of->process->buffer, &entry), 0);
}

/* Runs for 1 ms up to 101 ms, sleeps in a lock until 106 ms, is soon off again for an interval, and then runs. */
static struct thread *thread;

static int add_sleeper(void **state)
{
	if (setup(state))
		return -1;
	thread = add_thread(500, 500, 0, "sleeper");

	assert_int_equal(address_space_add(&thread->process->space,
					   &(const struct mapping){LIB, LIB + 0x10000, 0, 0, &lib}),
			 0);
	add_buffer(thread->process);
	put(thread, &(struct shot){1100 * MS, 2 * MS, 0, {LIB + 0x100}, {0}});
	put_sleep(thread, 1106 * MS, 5 * MS, 5, GB_SLEEP(GB_SLEEP_SYSTEM_CALL, 0, FUTEX + 1));
	put_sleep(thread, 1107 * MS, MS / 2, 1, GB_SLEEP(GB_SLEEP_RUNNABLE, 0, 0));
	put(thread, &(struct shot){1109 * MS, 4 * MS, 0, {LIB + 0x100}, {0}});
	return 0;
}

static json_t *find_threads(json_t *root)
{
	json_t *process, *list = json_object_get(root, "processes");
	size_t i;

	if (!list)
		return json_object_get(root, "threads");
	json_array_foreach(list, i, process)
	{
		json_t *threads = json_object_get(process, "threads");

		if (json_integer_value(json_object_get(json_array_get(threads, 0), "tid")) == 500)
			return threads;
	}
	return NULL;
}

/* The samples of the sleeper, as text. */
static void assert_samples(const char *format, const char *column, const char *expected)
{
	char *text = document_in(format, "[lock] futex"), *found;
	json_t *root = json_loads(text, 0, NULL), *shown;
	size_t i;

	assert_non_null(root);
	json_array_foreach(find_threads(root), i, shown)
	{
		json_t *samples = json_object_get(shown, "samples");

		if (json_integer_value(json_object_get(shown, "tid")) != 500)
			continue;
		found = json_dumps(json_object_get(samples, column),
				   JSON_COMPACT | JSON_REAL_PRECISION(9));
		assert_string_equal(found, expected);
		free(found);
		break;
	}
	assert_true(i < json_array_size(find_threads(root)));
	json_decref(root);
	free(text);
}

static void a_sleep_is_two_rows_with_a_weight(void **state)
{
	assert_samples("processed", "weight", "[1,1,4,1,1]");
	assert_samples("processed", "timeDeltas", "[100,1,5,1,2]");
	assert_samples("processed", "threadCPUDelta", "[0,1000000,0,0,1000000]");
}

/* From where it begins to where it ends, an interval from each other. */
static void without_weights_it_is_a_row_an_interval(void **state)
{
	assert_samples("gecko", "data",
		       "[[0,100,0,0],[2,101,0,1000000],[2,103,0,0],[2,104,0,0],[2,105,0,0],"
		       "[2,106,0,0],[3,107,0,0],[0,109,0,1000000]]");
}

static void planned(const struct recording_facts *of, uint64_t most, uint64_t expected)
{
	const struct profile_input input = {.recording.facts = of,
					    .recording.processes = processes};
	uint64_t intervals;

	assert_int_equal(sleep_rows_plan(&input, most, &intervals), 0);
	assert_int_equal(intervals, expected);
}

static void too_many_rows_are_fewer(void **state)
{
	const struct recording_fact way = {.name = RECORDING_SLEEP_STACKS, .text = "somehow"};
	struct recording_facts sleeping = facts;

	put_sleep(thread, 1700 * MS, 500 * MS, 501, GB_SLEEP(GB_SLEEP_FAULT, 0, 0));
	sleeping.log = &way;
	sleeping.log_count = 1;
	planned(&facts, 1, 1); /* it says that it has none */
	planned(&sleeping, 1000, 1);
	planned(&sleeping, 100, 6);
	/* Nobody slept that long. */
	put_sleep(thread, 1701 * MS, MS, INT64_MAX, GB_SLEEP(GB_SLEEP_FAULT, 0, 0));
	put_sleep(thread, 1702 * MS, MS, -5, GB_SLEEP(GB_SLEEP_FAULT, 0, 0));
	planned(&sleeping, 100, 6);
	free(document_in("processed", "[page fault]"));
	free(document_in("gecko", "[page fault]"));
}

static void assert_reason(uint64_t value, const char *name, unsigned int category,
			  unsigned int subcategory)
{
	char text[FRAME_TEXT_BYTES];
	struct frame_finding found = {.frame.category = CATEGORY_BLOCKED, .text = text};

	assert_int_equal(sleep_frames.find(&(const struct frame_query){.value = value}, &found), 0);
	assert_string_equal(found.function.name, name);
	assert_int_equal(found.frame.category, category);
	assert_int_equal(found.frame.subcategory, subcategory);
}

#define CALL(type, number) GB_SLEEP(GB_SLEEP_SYSTEM_CALL, type, (number) + 1)

static void reasons_have_names(void **state)
{
	assert_reason(CALL(0, FUTEX), "[lock] futex", CATEGORY_BLOCKED, WAIT_LOCK);
	assert_reason(CALL(1, READ), "[pipe] read", CATEGORY_BLOCKED, WAIT_PIPE);
	assert_reason(CALL(12, READ), "[socket read] read", CATEGORY_BLOCKED, WAIT_SOCKET_READ);
	assert_reason(CALL(12, 1), "[socket write] write", CATEGORY_BLOCKED, WAIT_SOCKET_WRITE);
	assert_reason(CALL(8, READ), "[disk] read", CATEGORY_BLOCKED, WAIT_DISK);
	assert_reason(CALL(2, READ), "[blocked] read", CATEGORY_BLOCKED, 0);
	assert_reason(CALL(0, 232), "[poll] epoll_wait", CATEGORY_IDLE, WAIT_POLL);
	assert_reason(CALL(0, 7), "[poll] poll", CATEGORY_BLOCKED, WAIT_POLL);
	assert_reason(CALL(0, 288), "[socket accept] accept4", CATEGORY_IDLE, WAIT_SOCKET_ACCEPT);
	assert_reason(CALL(0, 61), "[child] wait4", CATEGORY_BLOCKED, WAIT_CHILD);
	assert_reason(CALL(0, 35), "[sleep] nanosleep", CATEGORY_IDLE, WAIT_SLEEP);
	assert_reason(CALL(0, 16), "[blocked] ioctl", CATEGORY_BLOCKED, 0);
	assert_reason(CALL(0, 60000), "[blocked] system call 60000", CATEGORY_BLOCKED, 0);
	assert_reason(GB_SLEEP(GB_SLEEP_SYSTEM_CALL, 0, 0), "[blocked] 32-bit system call",
		      CATEGORY_BLOCKED, 0);
	assert_reason(GB_SLEEP(GB_SLEEP_DISK, 8, 17 + 1), "[disk] pread64", CATEGORY_BLOCKED,
		      WAIT_DISK);
	assert_reason(GB_SLEEP(GB_SLEEP_DISK, 0, 0), "[disk] page fault", CATEGORY_BLOCKED,
		      WAIT_DISK);
	assert_reason(GB_SLEEP(GB_SLEEP_FAULT, 0, 0), "[page fault]", CATEGORY_BLOCKED,
		      WAIT_PAGE_FAULT);
	assert_reason(GB_SLEEP(GB_SLEEP_STOPPED, 0, 0), "[stopped]", CATEGORY_BLOCKED,
		      WAIT_STOPPED);
	assert_reason(GB_SLEEP(GB_SLEEP_RUNNABLE, 0, 0), "[runnable]", CATEGORY_RUNNABLE, 0);
	assert_reason(15, "[blocked]", CATEGORY_BLOCKED, 0);
}

static void they_are_known_by_their_names(void **state)
{
	assert_true(sleep_frames_have("[lock] futex"));
	assert_true(sleep_frames_have("[socket read] read"));
	assert_true(sleep_frames_have("[page fault]"));
	assert_true(sleep_frames_have("[runnable]"));
	assert_true(sleep_frames_have("[blocked] system call 600"));
	assert_false(sleep_frames_have("[stack]"));
	assert_false(sleep_frames_have("[unknown] (in [kernel])"));
	assert_false(sleep_frames_have("[lock]futex"));
	assert_false(sleep_frames_have("[lock"));
	assert_false(sleep_frames_have("lock"));
	assert_false(sleep_frames_have("[]"));
	assert_false(sleep_frames_have(""));
}

static void no_memory_is_told(void **state)
{
	expect_no_memory_is_told();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleep_is_two_rows_with_a_weight),
		cmocka_unit_test(without_weights_it_is_a_row_an_interval),
		cmocka_unit_test(too_many_rows_are_fewer),
		cmocka_unit_test(reasons_have_names),
		cmocka_unit_test(they_are_known_by_their_names),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, add_sleeper, teardown);
}
