/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine on which everything comes and goes, told to a struct records in many thousand events, with a horizon that moves
 * along. A model of the machine tells what must be there.
 *
 * Every sample says who took it (its CPU time is the thread's tid) and what was mapped where it was (its kernel frame is the
 * number of the file), so that what is read back can be checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "alloc.h"
#include "base/fd.h"
#include "base/output.h"
#include "format/format.h"
#include "profile/profile.h"
#include "records_fixture.h"

#define MAX_LIVE 40
#define MAX_THREADS 6
#define SLOTS 12
#define SLOT(i)                                                                                    \
	(0x100000ULL + 0x800ULL * (i)) /* mappings are 0x1000 long: each covers halves of two */
#define WINDOW 2000 /* what a profile shows, if not told otherwise */
#define NO_FILE 0
#define KERNEL 0xffffffff80000000ULL
#define MS 1000000ULL
#define START (1000 * MS)

struct live {
	struct gb_task tasks[MAX_THREADS]; /* the first one's is the process's */
	size_t count;
	uint32_t files[SLOTS + 1]; /* what is mapped at SLOT(i) */
};

static struct machine {
	uint32_t seed;
	uint64_t now, window;
	struct live live[MAX_LIVE];
	size_t live_count;
	uint32_t next_pid, pids; /* pids are 100 ... 100 + pids - 1, in turn */
	uint64_t dead[20000]; /* when images ended, latest last */
	size_t dead_count;
	bool is_checked;
} machine;

static uint32_t roll(uint32_t sides)
{
	machine.seed = machine.seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(machine.seed >> 4) * sides >> 28);
}

static int open_machine(uint32_t pids, uint64_t buffer_bytes)
{
	int err = open_world(true);

	if (err)
		return err;
	records_close(world.records);
	profile_memory_close(world.memory);
	world.records = NULL;
	world.memory = NULL;
	err = profile_memory_open(&world.memory,
				  &(struct profile_memory_config){.max_bytes = buffer_bytes,
								  .cache_bytes = 1 << 16,
								  .chunk_first_bytes = 512,
								  .chunk_max_bytes = 1024});
	if (!err)
		err = records_open(&world.records,
				   &(struct records_config){.processes = world.processes,
							    .objects = world.objects,
							    .memory = world.memory,
							    .period_ns = 1000000,
							    .all = true});
	memset(&machine, 0, sizeof(machine));
	machine.now = START;
	machine.window = WINDOW;
	machine.seed = 1;
	machine.pids = pids;
	machine.is_checked = true;
	return err;
}

/* ---- what happens --------------------------------------------------------------------------- */

static bool is_pid_free(uint32_t pid)
{
	size_t i, k;

	for (i = 0; i < machine.live_count; i++)
		for (k = 0; k < machine.live[i].count; k++)
			if (machine.live[i].tasks[k].tid == pid)
				return false;
	return true;
}

static uint32_t new_pid(void)
{
	uint32_t pid;

	do
		pid = 100 + machine.next_pid++ % machine.pids;
	while (!is_pid_free(pid));
	return pid;
}

static void note_dead(void)
{
	assert_true(machine.dead_count < sizeof(machine.dead) / sizeof(machine.dead[0]));
	machine.dead[machine.dead_count++] = machine.now;
}

static void begin_process(void)
{
	struct live *live = &machine.live[machine.live_count];
	uint32_t pid = new_pid();

	memset(live, 0, sizeof(*live));
	live->count = 1;
	live->tasks[0] = (struct gb_task){
		.tgid = pid, .tid = pid, .start_ns = machine.now, .group_start_ns = machine.now};
	if (machine.live_count) {
		const struct live *parent = &machine.live[roll((uint32_t)machine.live_count)];

		live->tasks[0].exec_id = parent->tasks[0].exec_id;
		memcpy(live->files, parent->files, sizeof(live->files));
		tell_fork(machine.now, parent->tasks[0], live->tasks[0], "forked");
	} else {
		tell(GB_TASK_SEEN, machine.now, live->tasks[0], "init");
	}
	machine.live_count++;
}

static void begin_thread(struct live *live)
{
	struct gb_task *task = &live->tasks[live->count];

	if (live->count == MAX_THREADS)
		return;
	*task = live->tasks[0];
	task->tid = new_pid();
	task->start_ns = machine.now;
	tell_fork(machine.now, live->tasks[0], *task, "thread");
	live->count++;
}

static void end_thread(struct live *live)
{
	size_t which = live->count - 1;

	if (which > 0) {
		which = 1 + roll((uint32_t)which);
		tell_exit(machine.now, live->tasks[which], live->tasks[which].tid * MS,
			  (uint32_t)live->count - 1);
		live->tasks[which] = live->tasks[--live->count];
	}
}

static void end_process(struct live *live)
{
	if (machine.live_count < 5)
		return;
	while (live->count--)
		tell_exit(machine.now, live->tasks[live->count], live->tasks[live->count].tid * MS,
			  (uint32_t)live->count);
	note_dead();
	*live = machine.live[--machine.live_count];
}

/* Files come and go with time, too. */
static uint32_t some_file(void)
{
	return 1 + (uint32_t)((machine.now - START) / 10000) * 8 + roll(16);
}

static void map(struct live *live)
{
	uint32_t slot = roll(SLOTS), file = some_file();
	char path[32];

	snprintf(path, sizeof(path), "/nowhere/lib%u.so", file);
	tell_map(RECORD_MAP, machine.now, live->tasks[0].tgid, SLOT(slot), path);
	live->files[slot] = live->files[slot + 1] = file;
}

static void exec(struct live *live)
{
	struct gb_task old = live->tasks[0];

	tell_map(RECORD_IMAGE, machine.now, old.tgid, 0, "");
	memset(live->files, 0, sizeof(live->files));
	map(live);
	machine.now += 2;
	live->count = 1;
	live->tasks[0].exec_id++;
	tell(GB_TASK_EXEC, machine.now, live->tasks[0], "program");
	note_dead();
}

static void take_sample(struct live *live)
{
	const struct gb_task *task = &live->tasks[roll((uint32_t)live->count)];
	struct sample_bytes record = make_sample(machine.now, *task);
	uint32_t slot = roll(SLOTS + 1);

	record.sample.cpu_ns = task->tid * MS;
	record.sample.run_ns = 0;
	record.pc[0] = KERNEL + live->files[slot];
	record.pc[1] = FRAME(SLOT(slot) + roll(0x7ff), 3);
	record.pc[2] = FRAME(SLOT(slot) + roll(0x7ff), 3);
	tell_sample_bytes(&record);
}

static void happen(void)
{
	uint32_t what = roll(100);
	struct live *live;

	machine.now += 1 + roll(20);
	if (!machine.live_count || (what < 8 && machine.live_count < MAX_LIVE)) {
		begin_process();
		return;
	}
	live = &machine.live[roll((uint32_t)machine.live_count)];
	if (what < 14)
		end_process(live);
	else if (what < 24)
		begin_thread(live);
	else if (what < 34)
		end_thread(live);
	else if (what < 37)
		exec(live);
	else if (what < 55)
		map(live);
	else
		take_sample(live);
}

/* Where a profile would begin. What was before may be misread: numbers are used again. */
static uint64_t horizon_now(void)
{
	return machine.now - machine.window > START ? machine.now - machine.window : 0;
}

static void forget(void)
{
	const struct expire_horizon horizon = {.settled_ns = machine.now - machine.window / 2,
					       .hidden_ns = horizon_now()};

	records_expire(world.records, &horizon);
}

/* ---- what must be there ------------------------------------------------------------------------ */

static size_t images_expected(void)
{
	size_t count = machine.live_count, i;

	for (i = machine.dead_count; i-- > 0 && machine.dead[i] >= horizon_now();)
		count++;
	return count;
}

static void assert_living_are_there(void)
{
	size_t before = processes_thread_count(world.processes), i, k;
	struct thread *thread;

	for (i = 0; i < machine.live_count; i++) {
		for (k = 0; k < machine.live[i].count; k++) {
			assert_int_equal(processes_thread(world.processes,
							  &machine.live[i].tasks[k], &thread),
					 0);
			assert_int_equal(thread->died_ns, 0);
		}
	}
	assert_int_equal(processes_thread_count(world.processes), before);
}

/* Numbers differ; no thread ended before the horizon but for the first, which names the process. */
static size_t assert_threads(const struct process *process)
{
	bool is_taken[1000] = {false};
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		const struct thread *thread = process->threads.items[i];

		assert_in_range(thread->number, 0, 999);
		assert_true(thread->number < process->threads.numbers.top);
		assert_false(is_taken[thread->number]);
		is_taken[thread->number] = true;
		assert_true(!thread->died_ns || thread->died_ns >= horizon_now() ||
			    thread->tid == process->tgid);
	}
	return process->threads.count;
}

static void count_used(void *context, const struct mapping *mapping)
{
	*(size_t *)context += !mapping->object->is_used;
	mapping->object->is_used = true;
}

static void assert_objects(void)
{
	const uint64_t round = address_space_round();
	size_t i, used = 0;

	for (i = 0; i < processes_count(world.processes); i++) {
		struct process *process = processes_at(world.processes, i);

		address_space_visit(&process->space, round, count_used, &used);
	}
	assert_int_equal(objects_count(world.objects), used);
	for (i = 0; i < objects_count(world.objects); i++) {
		assert_true(objects_at(world.objects, i)->is_used);
		objects_at(world.objects, i)->is_used = false;
	}
}

static void assert_tables(void)
{
	bool is_taken[4000] = {false};
	size_t threads = 0, i;

	assert_int_equal(processes_count(world.processes), images_expected());
	assert_living_are_there();
	for (i = 0; i < processes_count(world.processes); i++) {
		const struct process *process = processes_at(world.processes, i);

		assert_in_range(process->number, 0, 3999);
		assert_false(is_taken[process->number]);
		is_taken[process->number] = true;
		threads += assert_threads(process);
	}
	assert_int_equal(processes_thread_count(world.processes), threads);
	assert_objects();
	assert_int_equal(counts()->live_processes, machine.live_count);
}

/* ---- what is read back ------------------------------------------------------------------------------ */

struct reader {
	const struct process *process;
	struct {
		uint64_t pc;
		uint32_t prefix;
	} nodes[4096];
	size_t samples;
};

static int on_restart(void *context)
{
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct reader *reader = context;

	assert_in_range(node, 0, 4095);
	reader->nodes[node].pc = frame->value;
	reader->nodes[node].prefix = prefix;
	return 0;
}

static const struct thread *thread_numbered(const struct process *process, uint32_t number)
{
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		if (process->threads.items[i]->number == number)
			return process->threads.items[i];
	return NULL;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct reader *reader = context;
	const struct thread *thread = thread_numbered(reader->process, sample->thread);
	uint32_t user = reader->nodes[sample->stack].prefix;
	uint32_t file = (uint32_t)(reader->nodes[sample->stack].pc - KERNEL);
	char path[32];

	if (sample->time_ns <= horizon_now())
		return 0;
	assert_non_null(thread);
	assert_int_equal(thread->tid, (sample->cpu_ns + MS / 2) / MS); /* told roughly */
	assert_true(sample->time_ns >= thread->born_ns);
	assert_true(!thread->died_ns || sample->time_ns <= thread->died_ns);
	reader->samples++;
	if (file == NO_FILE)
		return 0; /* what was mapped there later counts */
	snprintf(path, sizeof(path), "/nowhere/lib%u.so", file);
	assert_string_equal(path_at(reader->process, reader->nodes[user].pc, sample->time_ns),
			    path);
	return 0;
}

static size_t assert_samples(void)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart, .node = on_node, .sample = on_sample};
	static struct reader reader;
	size_t i;

	reader.samples = 0;
	for (i = 0; i < processes_count(world.processes); i++) {
		reader.process = processes_at(world.processes, i);
		if (reader.process->buffer)
			assert_int_equal(
				profile_buffer_read(reader.process->buffer, &visitor, &reader), 0);
	}
	return reader.samples;
}

/* ---- storms ------------------------------------------------------------------------------------------- */

/* 100,000 events; pids are used again and again, and the buffer holds a part of them only. */
static void test_storm(void **state)
{
	size_t early = 0, late = 0, read = 0, bytes, i;

	assert_int_equal(open_machine(300, 48 << 10), 0);
	for (i = 1; i <= 100000; i++) {
		happen();
		if (i % 100)
			continue;
		forget();
		assert_tables();
		bytes = records_side_bytes(world.records);
		if (i <= 20000)
			early = bytes > early ? bytes : early;
		else
			late = bytes > late ? bytes : late;
		if (i % 1000 == 0)
			read += assert_samples();
	}
	assert_no_loss();
	assert_true(late < early + early / 4);
	assert_true(read > 5000);
	assert_in_range(counts()->expired.processes, 5000, 12000);
	assert_in_range(counts()->expired.threads, 9000, 25000);
	assert_in_range(counts()->expired.mappings, 20000, 100000);
	assert_in_range(counts()->expired.objects, 500, 2000);
	assert_int_equal(counts()->expired.processes + processes_count(world.processes),
			 machine.live_count + machine.dead_count);
	close_world();
}

static char *document(void)
{
	static const char *const threads[] = {"*", NULL}, *const features[] = {NULL};
	char path[] = "/tmp/test_expire_storm.XXXXXX.json", *text;
	const struct recording_facts facts = {.product = "storm",
					      .version = "0",
					      .oscpu = "Linux",
					      .start_ns = horizon_now() + 1,
					      .is_cut = true,
					      .end_ns = machine.now,
					      .interval_ns = MS,
					      .threads = threads,
					      .features = features};
	const struct profile_input input = {.recording.facts = &facts,
					    .recording.processes = world.processes,
					    .recording.objects = world.objects};
	struct profile_summary summary = {0};
	struct output *output;
	int fd = mkstemps(path, 5);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(output_open(&output, path, NULL), 0);
	assert_int_equal(format_write(NULL, &input, output, &summary), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	profile_summary_clear(&summary);
	assert_int_equal(fd_read_file(path, &text, NULL), 0);
	unlink(path);
	return text;
}

/* The profile of 5,000 events, forgetting every `every` events and at the end. */
static char *document_of_storm(size_t every)
{
	char *text;
	size_t i;

	assert_int_equal(open_machine(1000000, 64 << 20), 0);
	machine.window = 5 * WINDOW;
	for (i = 1; i <= 5000; i++) {
		happen();
		if (i % every == 0)
			forget();
	}
	assert_true(assert_samples() > 100);
	text = document();
	close_world();
	return text;
}

/* Forgetting all the time leaves what forgetting once, at the end, does. */
static void test_same_profile(void **state)
{
	char *often = document_of_storm(50), *once = document_of_storm(5000);

	assert_true(strlen(often) > 20000);
	assert_string_equal(often, once);
	free(often);
	free(once);
}

/* Whatever allocation fails, in the middle of it or in the forgetting: nothing breaks, and what can be read makes sense. */
static void test_no_memory(void **state)
{
	size_t n, i;
	bool failed;

	for (n = 1;; n++) {
		assert_int_equal(open_machine(300, 4 << 10), 0);
		alloc_fail_at(n);
		for (i = 1; i <= 400; i++) {
			happen();
			if (i % 5 == 0)
				forget();
		}
		failed = alloc_fail_stop();
		assert_true(counts()->bad_records == 0);
		if (!failed)
			assert_tables();
		close_world();
		if (!failed)
			break;
	}
	assert_true(n > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_same_profile),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
