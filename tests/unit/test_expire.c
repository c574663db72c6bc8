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

static struct gb_task shell, child, worker, idle;

static int setup(void **state)
{
	shell = task(10, 10, 0);
	child = task(20, 20, 0);
	worker = task(10, 11, 0);
	idle = task(10, 12, 0);
	return open_world(true);
}

static void forget(uint64_t settled_ns, uint64_t hidden_ns)
{
	const struct expire_horizon horizon = {.settled_ns = settled_ns, .hidden_ns = hidden_ns};

	records_expire(world.records, &horizon);
}

/* The same when memory is short. */
static void forget_pressed(uint64_t settled_ns, uint64_t hidden_ns)
{
	const struct expire_horizon horizon = {
		.settled_ns = settled_ns, .hidden_ns = hidden_ns, .is_pressed = true};

	records_expire(world.records, &horizon);
}

static const struct expire_counts *expired(void)
{
	return &counts()->expired;
}

static struct profile_buffer_state buffer_of(struct gb_task named)
{
	return profile_buffer_get_state(thread_of(named)->process->buffer);
}

/* Puts samples of the one until none of the other, which has ended, can be read. */
static void overwrite(struct gb_task other, uint64_t time_ns, struct gb_task named)
{
	struct sample_bytes record = make_sample(time_ns, named);
	uint64_t n = 0;

	records_finish_ended(world.records);
	while (buffer_of(other).cleared < buffer_of(other).pushed) {
		record.pc[1] = FRAME(0x10000 + 64 * n++, 3);
		tell_sample_bytes(&record);
	}
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
	forget(100, 0);
	forget(100, 10);
	assert_int_equal(processes_count(world.processes), 2);
	forget(100, 11);
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
	assert_int_equal(profile_memory_get_stats(world.memory).chunks.released_bytes, 0);
	assert_int_equal(profile_memory_get_stats(world.memory).chunks.unreleased_bytes, 0);
}

/* However little of it a profile shows: what is told of the last seconds may still be under way. */
static void test_process_that_is_not_settled(void **state)
{
	begin();
	tell_sample(5, child);
	tell_exit(10, child, 5, 0);
	forget(10, 100);
	forget_pressed(10, 100);
	assert_int_equal(processes_count(world.processes), 2);
	forget(11, 100);
	assert_int_equal(processes_count(world.processes), 1);
}

/* Of two threads that exit at once, the first to be gone may find that none is left; the other still runs. */
static void test_process_sampled_after_its_end(void **state)
{
	begin();
	tell_fork(3, child, task(20, 21, 0), "twin");
	tell_exit(10, child, 5, 0);
	tell_sample(15, task(20, 21, 0));
	forget(100, 15);
	assert_int_equal(processes_count(world.processes), 2);
	assert_int_equal(image_of(20, 0)->threads.count, 2);
	forget(100, 16);
	assert_int_equal(processes_count(world.processes), 1);
	assert_int_equal(expired()->samples, 1);
}

static void test_pressed_process_without_samples(void **state)
{
	begin();
	tell_exit(10, child, 5, 0);
	forget_pressed(10, 0);
	assert_int_equal(processes_count(world.processes), 2);
	forget_pressed(11, 0);
	assert_int_equal(processes_count(world.processes), 1);
	assert_ptr_equal(processes_at(world.processes, 0), image_of(10, 0));
	assert_int_equal(expired()->samples, 0);
}

static void test_pressed_process_with_samples(void **state)
{
	begin();
	tell_sample(5, child);
	tell_sample(6, child);
	tell_exit(10, child, 5, 0);
	forget_pressed(100, 10);
	assert_int_equal(processes_count(world.processes), 2); /* they can be read */
	overwrite(child, 20, shell);
	forget(100, 10);
	forget_pressed(10, 10);
	assert_int_equal(processes_count(world.processes), 2);
	forget_pressed(11, 10);
	assert_int_equal(processes_count(world.processes), 1);
	assert_int_equal(expired()->samples, 2);
}

static void test_living_process_stays(void **state)
{
	begin();
	tell_sample(5, child);
	forget(UINT64_MAX, UINT64_MAX);
	forget_pressed(UINT64_MAX, UINT64_MAX);
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
	forget_pressed(100, 100);
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
	assert_int_equal(buffer_of(child).pushed, 1);
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

static void begin_threads(void)
{
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_fork(3, shell, idle, "idle");
	tell_sample(5, worker);
	tell_exit(8, worker, 5, 2);
	tell_exit(8, idle, 5, 1);
}

static size_t threads_left(void)
{
	return image_of(10, 0)->threads.count;
}

static void test_threads(void **state)
{
	begin_threads();
	forget(100, 0);
	forget(100, 8);
	forget(8, 100);
	assert_int_equal(threads_left(), 3);
	forget(9, 9);
	assert_int_equal(threads_left(), 1);
	assert_int_equal(image_of(10, 0)->threads.items[0]->tid, 10);
	assert_int_equal(expired()->threads, 2);
	assert_int_equal(expired()->processes, 0);
	assert_int_equal(expired()->samples, 0); /* they are in the buffer still */
	assert_int_equal(buffer_of(shell).pushed - buffer_of(shell).cleared, 1);
	tell_fork(20, shell, task(10, 13, 0), "new");
	assert_in_range(thread_of(task(10, 13, 0))->number, 1, 2);
}

/* Its number must not be another's while a sample of it is shown. */
static void test_thread_sampled_after_its_end(void **state)
{
	begin_threads();
	tell_sample(12, worker);
	tell_sample(11, worker);
	forget(100, 12);
	assert_int_equal(threads_left(), 2);
	assert_int_equal(thread_of(worker)->died_ns, 8);
	forget(100, 13);
	assert_int_equal(threads_left(), 1);
}

/* An exit that was lost: it ended with its process. */
static void test_thread_of_ended_process(void **state)
{
	assert_int_equal(records_expect(world.records, 10), 0);
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_exit(8, shell, 5, 0);
	forget(100, 8);
	assert_int_equal(threads_left(), 2);
	forget(100, 9);
	assert_int_equal(threads_left(), 1);
	assert_ptr_equal(image_of(10, 0)->threads.items[0], thread_of(shell));
}

static void test_pressed_threads(void **state)
{
	begin_threads();
	forget_pressed(8, 0);
	assert_int_equal(threads_left(), 3);
	forget_pressed(9, 0);
	assert_int_equal(threads_left(), 2);
	assert_int_equal(thread_of(worker)->died_ns, 8); /* an entry may name it */
	forget_pressed(100, 8);
	assert_int_equal(threads_left(), 2);
	forget_pressed(100, 9);
	assert_int_equal(threads_left(), 1);
}

/* The first thread names the process, even if it ended before the others. */
static void test_first_thread_stays(void **state)
{
	begin();
	tell_fork(3, shell, worker, "worker");
	tell_exit(5, shell, 5, 1);
	forget(100, 100);
	forget_pressed(100, 100);
	assert_int_equal(threads_left(), 2);
}

/* ---- mappings and files ------------------------------------------------------------------- */

static void test_mappings(void **state)
{
	begin();
	tell_map(RECORD_MAP, 10, 10, 0x401000, "/old");
	tell_sample(20, shell);
	tell_map(RECORD_MAP, 30, 10, 0x401000, "/new");
	forget(100, 0);
	forget(100, 29);
	forget(29, 100);
	forget_pressed(100, 29);
	assert_string_equal(path_at(image_of(10, 0), 0x401020, 29), "/old");
	assert_int_equal(objects_count(world.objects), 2);
	forget(100, 30);
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
static void test_early_mappings(void **state)
{
	begin();
	tell_map(RECORD_IMAGE, 10, 20, 0, "");
	tell_map(RECORD_MAP, 11, 20, 0x1000, "/program");
	forget(10, 0);
	assert_int_equal(objects_count(world.objects), 1);
	forget(11, 0);
	assert_int_equal(objects_count(world.objects), 0);
	tell_map(RECORD_MAP, 12, 20, 0x1000, "/other"); /* the old image's again */
	assert_string_equal(path_at(image_of(20, 0), 0x1020, 50), "/other");
}

/* ---- who keeps things by numbers ----------------------------------------------------------- */

struct keeper {
	bool agrees;
	uint32_t process, object;
	size_t asked;
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

static void test_keeper(void **state)
{
	struct keeper keeper = {0};

	records_listen(world.records,
		       &(struct records_listener){.keeper = {.forgets_process = forgets_process,
							     .forgets_object = forgets_object,
							     .context = &keeper}});
	begin();
	tell_map(RECORD_MAP, 10, 20, 0x1000, "/a");
	tell_map(RECORD_MAP, 11, 20, 0x3000, "/b");
	tell_map(RECORD_MAP, 12, 20, 0x3000, "/c");
	forget(20, 20);
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
		FRESH(test_process_that_is_not_settled),
		FRESH(test_process_sampled_after_its_end),
		FRESH(test_pressed_process_without_samples),
		FRESH(test_pressed_process_with_samples),
		FRESH(test_living_process_stays),
		FRESH(test_root_stays),
		FRESH(test_named_after_it_went),
		FRESH(test_roll_call),
		FRESH(test_threads),
		FRESH(test_thread_sampled_after_its_end),
		FRESH(test_thread_of_ended_process),
		FRESH(test_pressed_threads),
		FRESH(test_first_thread_stays),
		FRESH(test_mappings),
		FRESH(test_files_of_others_stay),
		FRESH(test_early_mappings),
		FRESH(test_keeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
