/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that are shown as one: which, in which threads, and that no CPU time is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>

#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "target/process.h"

#include "alloc.h"

#define MS 1000000ULL
#define START (1000 * MS)
#define END (2000 * MS)

/* ---- a recording --------------------------------------------------------------------------- */

static const struct recording_facts facts = {
	.start_ns = START, .end_ns = END, .interval_ns = MS, .include_args = 0};
static struct processes *processes;
static struct profile_memory *memory;
static struct profile_filter filter;

static int setup(void **state)
{
	const struct profile_memory_config config = {.max_bytes = 16 << 20};

	filter = (struct profile_filter){0};
	return processes_open(&processes) || profile_memory_open(&memory, &config) ? -1 : 0;
}

static int teardown(void **state)
{
	size_t i;

	for (i = 0; i < processes_count(processes); i++)
		profile_buffer_close(processes_at(processes, i)->buffer);
	processes_close(processes);
	profile_memory_close(memory);
	return 0;
}

/* An image with one thread, that lived from `born_ms` to `died_ms` after the start, 0: all the time. */
static struct thread *add(uint32_t tgid, uint32_t exec_id, const char *name, uint64_t born_ms,
			  uint64_t died_ms)
{
	const struct gb_task task = {
		.tgid = tgid, .tid = tgid, .start_ns = 1, .group_start_ns = 1, .exec_id = exec_id};
	struct thread *thread;

	assert_int_equal(processes_thread(processes, &task, &thread), 0);
	snprintf(thread->name, sizeof(thread->name), "%s", name);
	memcpy(thread->process->name, thread->name, sizeof(thread->name));
	thread->process->born_ns = thread->born_ns = born_ms ? START + born_ms * MS : 0;
	thread->process->died_ns = thread->died_ns = died_ms ? START + died_ms * MS : 0;
	return thread;
}

static struct thread *used(struct thread *thread, uint64_t first_ns, uint64_t last_ns)
{
	thread->cpu_first_ns = first_ns;
	thread->cpu_last_ns = last_ns;
	return thread;
}

static void put(const struct thread *thread, uint64_t at_ms, uint64_t cpu_ns, uint64_t pc)
{
	const struct profile_buffer_config config = {.memory = memory,
						     .process_id = thread->process->tgid};
	const struct frame frame = {.value = pc, .kind = GB_FRAME_USER};
	const struct sample_entry entry = {.weight = 1,
					   .thread = thread->number,
					   .time_ns = START + at_ms * MS,
					   .cpu_ns = cpu_ns,
					   .frames = &frame,
					   .frame_count = 1};

	if (!thread->process->buffer)
		assert_int_equal(profile_buffer_open(&thread->process->buffer, &config), 0);
	assert_int_equal(profile_buffer_put_sample(thread->process->buffer, &entry), 0);
}

/* What somebody asked for, and that did nearly all. */
static void add_busy(void)
{
	struct thread *thread = used(add(10, 0, "make", 0, 0), 0, 900 * MS);

	thread->process->is_root = true;
	put(thread, 500, 450 * MS, 0x1000);
}

/* ---- a sink -------------------------------------------------------------------------------- */

struct teller {
	struct profile_sink sink;
	FILE *out;
	uint64_t cpu_ns;
};

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	return 0;
}

static int begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	return 0;
}

/* Rows of a thread are kept with it, for its name is known at the end. */
static int add_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	char *text = NULL, *before = thread->of_sink;
	uint64_t cpu_ns = row->cpu_delta_ns == PROFILE_CPU_UNKNOWN ? 0 : row->cpu_delta_ns;
	const char *what = row->stack == PROFILE_NO_STACK     ? ""
			   : row->stack == PROFILE_SAME_STACK ? " as before"
							      : " stack";

	((struct teller *)sink)->cpu_ns += cpu_ns;
	if (asprintf(&text, "%s  %" PRIu64 " +%" PRIu64 "%s\n", before ? before : "",
		     (uint64_t)(row->time_ns / MS), cpu_ns, what) < 0)
		return -ENOMEM;
	free(before);
	thread->of_sink = text;
	return 0;
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	FILE *out = ((struct teller *)sink)->out;
	size_t i;

	fprintf(out, "%.*s %u.%u\n", (int)process->name_length, process->name,
		process->process->tgid, process->process->life);
	for (i = 0; i < process->thread_count; i++) {
		const struct profile_thread *thread = process->threads[i];
		char *rows = thread->of_sink;

		fprintf(out, " %u %s\n%s", thread->thread->tid,
			thread->name ? thread->name : thread->thread->name, rows ? rows : "");
		free(rows);
	}
	return 0;
}

static int end(struct profile_sink *sink, const struct profile_summary *summary)
{
	fprintf(((struct teller *)sink)->out,
		"%" PRIu64 " gathered, %" PRIu64 " ns, %" PRIu64 " folded\n",
		summary->gathered.processes, summary->gathered.cpu_ns, summary->gathered.folded);
	return 0;
}

static const struct profile_sink_ops ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.end_process = end_process,
	.end = end,
};

/* What a walk tells, the caller's to free; *cpu_ns: of all rows. */
static char *told(bool has_files, uint64_t *cpu_ns)
{
	struct teller teller = {.sink = {.ops = &ops, .has_files = has_files}};
	const struct profile_input input = {
		.recording.facts = &facts, .recording.processes = processes, .filter = filter};
	struct profile_summary summary = {0};
	size_t size;
	char *text;

	teller.out = open_memstream(&text, &size);
	assert_non_null(teller.out);
	assert_int_equal(profile_walk(&input, &teller.sink, &summary), 0);
	profile_summary_clear(&summary);
	fclose(teller.out);
	*cpu_ns = teller.cpu_ns;
	return text;
}

static void expect_told(bool has_files, const char *expected)
{
	uint64_t cpu_ns;
	char *text = told(has_files, &cpu_ns);

	assert_string_equal(text, expected);
	free(text);
}

#define BUSY                                                                                       \
	"make 10.0\n 10 make\n  0 +0\n  500 +450000000 stack\n  950 +450000000 as before\n  950 "  \
	"+0\n"

/* ---- tests --------------------------------------------------------------------------------- */

/* Those of a name are one after the other; those that ran at once beside each other. */
static void short_processes(void **state)
{
	struct thread *thread;

	add_busy();
	used(add(20, 1, "sed", 100, 110), 5, 1005);
	thread = used(add(21, 1, "sed", 110, 120), 0, 3000);
	put(thread, 115, 2000, 0x2000);
	used(add(22, 1, "sed", 115, 130), 0, 7);
	used(add(23, 1, "cat", 200, 210), 0, 500);
	expect_told(true, BUSY "4 short processes 0.2\n"
			       " 0 short processes\n  0 +0\n"
			       " 1 sed (2)\n  100 +0\n  110 +1000\n  110 +0\n  115 +2000 stack\n"
			       "  115 +1000 as before\n  115 +0\n"
			       " 2 sed (1)\n  115 +0\n  130 +7\n"
			       " 3 cat (1)\n  200 +0\n  210 +500\n"
			       "4 gathered, 4507 ns, 0 folded\n");
}

/* What a fork becomes has what the fork used; also if it is gathered. */
static void forks_fold(void **state)
{
	struct thread *thread;

	add_busy();
	put(used(add(20, 0, "make", 100, 101), 0, 1000), 100, 0, 0x1000);
	thread = used(add(20, 1, "cc1", 101, 200), 1000, 50 * MS);
	put(thread, 150, 20 * MS, 0x2000);
	used(add(21, 0, "make", 300, 301), 0, 200);
	used(add(21, 1, "rm", 301, 310), 200, 700);
	used(add(22, 1, "mv", 320, 330), 0, 100);
	expect_told(true, BUSY "cc1 20.1\n 20 cc1\n"
			       "  100 +0\n  100 +0 stack\n  150 +20000000 stack\n"
			       "  180 +30000000 as before\n  180 +0\n"
			       "2 short processes 0.2\n"
			       " 0 short processes\n  0 +0\n"
			       " 1 rm (1)\n  300 +0\n  310 +700\n"
			       " 2 mv (1)\n  320 +0\n  330 +100\n"
			       "2 gathered, 800 ns, 2 folded\n");
}

/* A process that worked for long before it became another is what it was. */
static void work_is_not_folded(void **state)
{
	add_busy();
	used(add(20, 0, "sh", 100, 400), 0, 200 * MS);
	put(processes_at(processes, 1)->threads.items[0], 200, 100 * MS, 0x1000);
	put(used(add(20, 1, "cc1", 400, 800), 200 * MS, 500 * MS), 500, 300 * MS, 0x2000);
	expect_told(true, BUSY "sh 20.0\n 20 sh\n  100 +0\n  200 +100000000 stack\n"
			       "  300 +100000000 as before\n  300 +0\n"
			       "cc1 20.1\n 20 cc1\n  400 +0\n  500 +100000000 stack\n"
			       "  700 +200000000 as before\n  700 +0\n"
			       "0 gathered, 0 ns, 0 folded\n");
}

/* Each that has samples is a thread; the rest are the main thread. */
static void kernel_threads(void **state)
{
	uint32_t i;

	add_busy();
	for (i = 2; i < 6; i++) {
		struct thread *thread = used(add(i, 0, "kworker", 0, 0), 0, i * 1000);

		thread->process->is_kernel = true;
		if (i == 3)
			put(thread, 700, 2000, 0xffffffff81000000);
	}
	expect_told(true, BUSY "[kernel] 0.1\n"
			       " 0 [kernel]\n  0 +0\n  1000 +11000\n"
			       " 3 kworker\n  0 +0\n  700 +2000 stack\n  700 +1000 as before\n"
			       "  700 +0\n"
			       "0 gathered, 0 ns, 0 folded\n");
}

/* What was there all the time has no thread of its own, if it has no samples; with samples it is what it is. */
static void idle_processes(void **state)
{
	add_busy();
	used(add(20, 1, "cron", 0, 0), 5000, 7000);
	used(add(21, 1, "sshd", 0, 300), 0, 3000);
	used(add(22, 1, "getty", 0, 0), 4000, 4000);
	put(used(add(23, 1, "dbus", 0, 0), 0, 1000), 600, 1000, 0x1000);
	expect_told(true, BUSY "dbus 23.0\n 23 dbus\n  0 +0\n  600 +1000 stack\n"
			       "2 short processes 0.2\n 0 short processes\n  0 +0\n  1000 +5000\n"
			       "2 gathered, 5000 ns, 0 folded\n");
}

static void all_processes(void **state)
{
	filter.each_process = true;
	add_busy();
	used(add(20, 0, "make", 100, 101), 0, 100);
	used(add(20, 1, "sed", 101, 110), 100, 300);
	used(add(21, 1, "silent", 101, 110), 0, 0);
	expect_told(true, BUSY "make 20.0\n 20 make\n  100 +0\n  101 +100\n"
			       "sed 20.1\n 20 sed\n  101 +0\n  110 +200\n"
			       "0 gathered, 0 ns, 0 folded\n");
}

/* Addresses alone do not say which file they are of: the address space does. */
static void addresses_are_not_mixed(void **state)
{
	add_busy();
	put(used(add(20, 1, "sed", 100, 110), 0, 1000), 105, 500, 0x1000);
	put(used(add(21, 1, "sed", 200, 210), 0, 1000), 205, 500, 0x1000);
	used(add(22, 1, "sed", 300, 310), 0, 1000);
	used(add(23, 1, "sed", 400, 410), 0, 1000);
	expect_told(false,
		    BUSY "sed 20.0\n 20 sed\n  100 +0\n  105 +0 stack\n  105 +1000 as before\n"
			 "  105 +0\n"
			 "sed 21.0\n 21 sed\n  200 +0\n  205 +0 stack\n  205 +1000 as before\n"
			 "  205 +0\n"
			 "2 short processes 0.2\n 0 short processes\n  0 +0\n"
			 " 1 sed (2)\n  300 +0\n  310 +1000\n  400 +0\n  410 +1000\n"
			 "2 gathered, 2000 ns, 0 folded\n");
}

/* Threads that were told of. */
static size_t count_threads(const char *text)
{
	size_t count = 0;

	for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		count += text[0] == ' ' && text[1] != ' ';
	return count;
}

/* However many there are, and whatever they are called, there are few threads, and all the CPU time. */
static void many_at_once(void **state)
{
	uint64_t cpu_ns, sum_ns = 900 * MS;
	uint32_t i;
	char *text;

	add_busy();
	for (i = 0; i < 3000; i++) {
		char name[THREAD_NAME_BYTES];

		snprintf(name, sizeof(name), "p%u", i % 200);
		used(add(100 + i, 1, name, 1 + i % 500, 501 + i % 400), 0, 1000 + i);
		sum_ns += 1000 + i;
	}
	text = told(true, &cpu_ns);
	assert_int_equal(cpu_ns, sum_ns);
	/* Those of the busy one, its own main thread, and lanes. */
	assert_true(count_threads(text) <= 2 + GATHER_LANES);
	assert_non_null(strstr(text, "3000 short processes 0.2\n"));
	assert_non_null(strstr(text, " other processes ("));
	free(text);
}

/* More than so many that came and went are gathered, however much they used. */
static void many_that_worked(void **state)
{
	uint64_t cpu_ns;
	uint32_t i;
	char *text;

	for (i = 0; i < 150; i++)
		put(used(add(100 + i, 1, "cc1", 1 + 4 * i, 4 + 4 * i), 0, (2 + i % 2) * MS),
		    2 + 4 * i, MS, 0x1000);
	text = told(true, &cpu_ns);
	assert_int_equal(cpu_ns, 375 * MS);
	assert_non_null(strstr(text, "75 short processes 0.2\n"));
	assert_non_null(strstr(text, "cc1 (75)\n"));
	free(text);
}

static int attempt(void *context)
{
	const struct recording recording = {.facts = &facts, .processes = processes};
	const struct gather_input gather = {
		.recording = &recording, .filter = &filter, .mixes = true};
	struct gathering gathering;
	int err = gathering_open(&gathering, &gather);

	if (!err)
		gathering_close(&gathering);
	return err;
}

static void failing_allocations(void **state)
{
	add_busy();
	used(add(20, 1, "sed", 100, 110), 0, 1000);
	used(add(21, 1, "sed", 110, 120), 0, 3000);
	assert_true(alloc_fail_each(attempt, NULL) >= 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_processes),     TEST(forks_fold),       TEST(work_is_not_folded),
		TEST(kernel_threads),      TEST(idle_processes),   TEST(all_processes),
		TEST(many_at_once),        TEST(many_that_worked), TEST(addresses_are_not_mixed),
		TEST(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
