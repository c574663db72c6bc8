/* SPDX-License-Identifier: BSD-2-Clause */
/* What is forgotten, and what is not: case by case. */
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

static struct gb_task shell, child, worker;

static int setup(void **state)
{
	shell = task(10, 10, 0);
	child = task(20, 20, 0);
	worker = task(10, 11, 0);
	return open_world(true);
}

static void forget(uint64_t ended_ns, uint64_t samples_ns)
{
	const struct expire_horizon horizon = {
		.settled_ns = ended_ns, .samples_ns = samples_ns, .is_pressed = true};

	records_expire(world.records, &horizon);
}

static const struct expire_counts *expired(void)
{
	return &counts()->expired;
}

/* Puts samples until everything that was in the buffer of that process is overwritten. */
static void overwrite(uint64_t time_ns, struct gb_task named)
{
	struct process *process = thread_of(named)->process;
	uint64_t before = process->entry_count;
	struct sample_bytes record = make_sample(time_ns, named);

	do {
		record.pc[1] = FRAME(0x10000 + 64 * process->entry_count, 3);
		tell_sample_bytes(&record);
	} while (profile_buffer_get_state(process->buffer).cleared < before);
}

static void begin(void)
{
	tell(GB_TASK_SEEN, 1, shell, "shell");
	tell_fork(2, shell, child, "child");
}

/* ---- processes --------------------------------------------------------------------------- */

static void test_process_without_samples(void **state)
{
	begin();
	tell_exit(10, child, 5, 0);
	forget(10, 0);
	assert_int_equal(processes_count(world.processes), 2);
	forget(11, 0);
	assert_int_equal(processes_count(world.processes), 1);
	assert_ptr_equal(processes_at(world.processes, 0), image_of(10, 0));
	assert_int_equal(expired()->processes, 1);
	assert_int_equal(expired()->threads, 1);
	assert_int_equal(counts()->live_processes, 1);
	assert_no_loss();
}

static void test_process_with_samples(void **state)
{
	begin();
	tell_sample(5, child);
	tell_sample(6, child);
	tell_exit(10, child, 5, 0);
	forget(100, 10);
	assert_int_equal(processes_count(world.processes), 2);
	assert_int_equal(expired()->samples, 0);
	forget(100, 11);
	assert_int_equal(processes_count(world.processes), 1);
	assert_int_equal(expired()->samples, 2);
	assert_int_equal(memory_controller_get_stats(world.memory).released_bytes, 0);
}

static void test_process_whose_samples_are_overwritten(void **state)
{
	begin();
	tell_sample(5, shell);
	tell_sample(5, child);
	overwrite(6, child);
	tell_exit(10, child, 5, 0);
	forget(100, 0);
	assert_int_equal(processes_count(world.processes), 2); /* the rest can be read */
	assert_int_equal(expired()->threads, 0);
}

/* Without need, nobody goes who is not older than what the buffer has overwritten. */
static void test_as_old_as_what_is_overwritten(void **state)
{
	const struct expire_horizon later = {.settled_ns = 100}, latest = {.settled_ns = 200};
	struct gb_task busy = task(30, 30, 0);

	begin();
	tell_fork(3, shell, busy, "busy");
	tell_exit(50, child, 5, 0);
	tell_sample(60, busy);
	tell_sample(60, shell);
	tell_exit(80, busy, 5, 0);
	records_expire(world.records, &later);
	assert_int_equal(processes_count(world.processes), 3);
	overwrite(150, shell);
	while (profile_buffer_get_state(image_of(30, 0)->buffer).cleared == 0)
		overwrite(160, shell);
	records_expire(world.records, &latest);
	assert_true(expired()->overwritten_ns >= 80);
	assert_int_equal(expired()->processes, expired()->overwritten_ns > 80 ? 2 : 1);
	assert_null(processes_latest(world.processes, 20));
}

static void test_living_process_stays(void **state)
{
	begin();
	forget(UINT64_MAX, UINT64_MAX);
	assert_int_equal(processes_count(world.processes), 2);
}

/* The profile shows who was asked for, whatever became of it; but not each image that it once was. */
static void test_root_stays(void **state)
{
	assert_int_equal(records_expect(world.records, 10), 0);
	begin();
	tell_exec(5, 10, 1, "program", "/program");
	tell_exit(20, task(10, 10, 1), 5, 0);
	tell_exit(20, child, 5, 0);
	forget(100, 100);
	assert_int_equal(processes_count(world.processes), 1);
	assert_ptr_equal(processes_at(world.processes, 0), image_of(10, 1));
	assert_null(image_of(10, 1)->previous);
}

/* A record that was very late: who is named is made anew, and no other is taken for it. */
static void test_named_after_it_went(void **state)
{
	struct gb_task next = child;

	next.start_ns = next.group_start_ns = 5000;
	begin();
	tell_exit(10, child, 5, 0);
	forget(100, 100);
	tell_fork(200, shell, next, "next");
	tell_sample(9, child);
	assert_int_equal(processes_count(world.processes), 3);
	assert_string_equal(image_of(20, 0)->name, "");
	assert_int_equal(image_of(20, 0)->entry_count, 1);
	assert_string_equal(thread_of(next)->process->name, "next");
	assert_ptr_equal(processes_latest(world.processes, 20), thread_of(next)->process);
	assert_no_loss();
}

/* ---- exits that were lost ------------------------------------------------------------------- */

static void test_roll_call(void **state)
{
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_fork(3, child, task(20, 21, 0), "twin");
	tell_fork(3, shell, task(30, 30, 0), "gone");
	records_call_roll(world.records);
	tell(GB_TASK_SEEN, 10, shell, "shell");
	tell(GB_TASK_SEEN, 10, task(20, 21, 0), "twin");
	tell(GB_TASK_SEEN, 10, task(40, 40, 0), "missed");
	records_end_roll(world.records, 11);
	assert_int_equal(image_of(30, 0)->died_ns, 11);
	assert_int_equal(thread_of(worker)->died_ns, 11);
	assert_int_equal(thread_of(child)->died_ns, 11);
	assert_int_equal(thread_of(task(20, 21, 0))->died_ns, 0);
	assert_int_equal(image_of(10, 0)->died_ns, 0);
	assert_int_equal(image_of(20, 0)->died_ns, 0);
	assert_int_equal(counts()->live_processes, 3);
	forget(20, 20);
	assert_int_equal(processes_count(world.processes), 3);
	records_call_roll(world.records);
	records_end_roll(world.records, 30);
	assert_int_equal(counts()->live_processes, 0);
	tell_exit(29, shell, 5, 0); /* it was only late */
	assert_int_equal(counts()->live_processes, 0);
}

/* ---- threads ------------------------------------------------------------------------------ */

static void test_threads(void **state)
{
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_fork(3, shell, task(10, 12, 0), "idle");
	tell_sample(5, worker);
	tell_exit(8, worker, 5, 2);
	tell_exit(8, task(10, 12, 0), 5, 1);
	forget(8, 8);
	assert_int_equal(image_of(10, 0)->threads.count, 3);
	forget(9, 9);
	assert_int_equal(image_of(10, 0)->threads.count, 2); /* an entry names the worker */
	overwrite(10, shell);
	forget(9, 9);
	assert_int_equal(image_of(10, 0)->threads.count, 1);
	assert_int_equal(expired()->threads, 2);
	assert_int_equal(expired()->processes, 0);
	tell_fork(20, shell, task(10, 13, 0), "new");
	assert_in_range(thread_of(task(10, 13, 0))->number, 1, 2);
}

/* The first thread names the process, even if it ended before the others. */
static void test_first_thread_stays(void **state)
{
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_exit(5, shell, 5, 1);
	forget(100, 100);
	assert_int_equal(image_of(10, 0)->threads.count, 2);
}

/* ---- mappings and files ------------------------------------------------------------------- */

static void test_mappings(void **state)
{
	begin();
	tell_map(RECORD_MAP, 10, 10, 0x401000, "/old");
	tell_sample(20, shell);
	tell_map(RECORD_MAP, 30, 10, 0x401000, "/new");
	forget(40, 40);
	forget(41, 41);
	assert_string_equal(path_at(image_of(10, 0), 0x401020, 20), "/old");
	assert_int_equal(objects_count(world.objects), 2);
	overwrite(
		60,
		shell); /* entries from before 40 are gone, but nobody saw how many there were then */
	forget(50, 50);
	overwrite(70, shell);
	forget(60, 60);
	assert_int_equal(image_of(10, 0)->space.count, 1);
	assert_int_equal(image_of(10, 0)->space.era_count, 0);
	assert_int_equal(objects_count(world.objects), 1);
	assert_string_equal(path_at(image_of(10, 0), 0x401020, 60), "/new");
	assert_int_equal(expired()->mappings, 1);
	assert_int_equal(expired()->objects, 1);
}

/* A fork keeps what its parent had mapped, and the files behind it. */
static void test_files_of_others_stay(void **state)
{
	tell(GB_TASK_SEEN, 1, shell, "shell");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/shared");
	tell_fork(3, shell, child, "child");
	tell_exit(10, shell, 5, 0);
	forget(100, 100);
	assert_string_equal(path_at(image_of(20, 0), 0x1020, 50), "/shared");
	assert_int_equal(expired()->mappings, 1);
	tell_exit(110, child, 5, 0);
	forget(200, 200);
	assert_int_equal(objects_count(world.objects), 0);
	assert_int_equal(processes_count(world.processes), 0);
}

/* An image whose exec event never came. */
static void test_incoming(void **state)
{
	begin();
	tell_map(RECORD_IMAGE, 10, 20, 0, "");
	tell_map(RECORD_MAP, 11, 20, 0x1000, "/program");
	forget(10, 10);
	assert_int_equal(objects_count(world.objects), 1);
	forget(11, 11);
	assert_int_equal(objects_count(world.objects), 0);
	tell_map(RECORD_MAP, 12, 20, 0x1000, "/other"); /* the old image's again */
	assert_string_equal(path_at(image_of(20, 0), 0x1020, 50), "/other");
}

/* ---- who keeps things by numbers ----------------------------------------------------------- */

struct keeper {
	bool agrees;
	uint32_t process, object;
	size_t index, asked;
};

static bool forgets_process(void *context, struct process *process)
{
	struct keeper *keeper = context;

	keeper->asked++;
	keeper->process = process->number;
	return keeper->agrees;
}

static bool forgets_object(void *context, const struct object *object)
{
	struct keeper *keeper = context;

	keeper->asked++;
	keeper->object = object->number;
	return keeper->agrees;
}

static void dropped_mapping(void *context, const struct process *process, size_t index)
{
	struct keeper *keeper = context;

	keeper->process = process->number;
	keeper->index = index;
}

static void test_keeper(void **state)
{
	struct keeper keeper = {0};

	records_listen(world.records,
		       &(struct records_listener){.keeper = {.forgets_process = forgets_process,
							     .forgets_object = forgets_object,
							     .dropped_mapping = dropped_mapping,
							     .context = &keeper}});
	begin();
	tell_map(RECORD_MAP, 10, 20, 0x1000, "/a");
	tell_map(RECORD_MAP, 11, 20, 0x3000, "/b");
	tell_map(RECORD_MAP, 12, 20, 0x3000, "/c");
	forget(20, 20);
	assert_int_equal(keeper.process, 1);
	assert_int_equal(keeper.index, 1);
	assert_int_equal(keeper.object, 1);
	assert_int_equal(objects_count(world.objects), 3); /* not yet */
	keeper.agrees = true;
	forget(20, 20);
	assert_int_equal(objects_count(world.objects), 2);
	keeper.agrees = false;
	tell_exit(30, child, 5, 0);
	forget(100, 100);
	assert_int_equal(keeper.process, 1);
	assert_int_equal(processes_count(world.processes), 2);
	assert_int_equal(expired()->processes, 0);
	keeper.agrees = true;
	keeper.asked = 0;
	forget(100, 100);
	assert_int_equal(keeper.asked, 3);
	assert_int_equal(processes_count(world.processes), 1);
	assert_int_equal(objects_count(world.objects), 0);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(test_process_without_samples),
		FRESH(test_process_with_samples),
		FRESH(test_process_whose_samples_are_overwritten),
		FRESH(test_as_old_as_what_is_overwritten),
		FRESH(test_living_process_stays),
		FRESH(test_root_stays),
		FRESH(test_named_after_it_went),
		FRESH(test_roll_call),
		FRESH(test_threads),
		FRESH(test_first_thread_stays),
		FRESH(test_mappings),
		FRESH(test_files_of_others_stay),
		FRESH(test_incoming),
		FRESH(test_keeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
