/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads: what tells them apart, whatever order they are met in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include "geckobpf_abi.h"
#include "base/shared_text.h"
#include "target/process.h"

#include "alloc.h"

static struct processes *processes;

static int open_processes(void **state)
{
	return processes_open(&processes);
}

static int close_processes(void **state)
{
	processes_close(processes);
	return 0;
}

static struct gb_task task(uint32_t tgid, uint32_t tid, uint64_t start_ns, uint64_t group_ns,
			   uint32_t exec_id)
{
	return (struct gb_task){.tgid = tgid,
				.tid = tid,
				.start_ns = start_ns,
				.group_start_ns = group_ns,
				.exec_id = exec_id};
}

static struct thread *get(struct gb_task named)
{
	struct thread *thread = NULL;

	assert_int_equal(processes_thread(processes, &named, &thread), 0);
	assert_non_null(thread);
	return thread;
}

/* The image of a process's first thread. */
static struct process *image(uint32_t tgid, uint64_t start_ns, uint32_t exec_id)
{
	return get(task(tgid, tgid, start_ns, start_ns, exec_id))->process;
}

static void test_nothing(void **state)
{
	assert_int_equal(processes_count(processes), 0);
	assert_int_equal(processes_thread_count(processes), 0);
	assert_null(processes_latest(processes, 1));
	processes_close(NULL);
}

static void test_made_on_sight(void **state)
{
	struct thread *thread = get(task(10, 11, 500, 400, 3));
	struct process *process = thread->process;

	assert_int_equal(thread->tid, 11);
	assert_int_equal(thread->key_ns, 500);
	assert_int_equal(thread->number, 0);
	assert_int_equal(thread->born_ns, 0);
	assert_int_equal(thread->died_ns, 0);
	assert_true(thread->cpu_first_ns == UINT64_MAX);
	assert_int_equal(thread->cpu_last_ns, 0);
	assert_string_equal(thread->name, "");
	assert_string_equal(thread->name_before, "");
	assert_int_equal(process->tgid, 10);
	assert_int_equal(process->key_ns, 400);
	assert_int_equal(process->exec_id, 3);
	assert_int_equal(process->number, 0);
	assert_int_equal(process->life, 0);
	assert_null(process->previous);
	assert_null(process->buffer);
	assert_false(process->is_root);
	assert_int_equal(process->threads.count, 1);
	assert_ptr_equal(process->threads.items[0], thread);
	assert_ptr_equal(processes_at(processes, 0), process);
	assert_ptr_equal(processes_latest(processes, 10), process);
	assert_null(processes_latest(processes, 11));
}

static void test_threads_of_one_process(void **state)
{
	struct thread *leader = get(task(10, 10, 400, 400, 1));
	struct thread *first = get(task(10, 11, 500, 400, 1));
	struct thread *second = get(task(10, 12, 600, 400, 1));

	assert_ptr_equal(first->process, leader->process);
	assert_ptr_equal(second->process, leader->process);
	assert_int_equal(first->number, 1);
	assert_int_equal(second->number, 2);
	assert_ptr_equal(get(task(10, 11, 500, 400, 1)), first);
	assert_ptr_equal(get(task(10, 10, 400, 400, 1)), leader);
	assert_int_equal(processes_count(processes), 1);
	assert_int_equal(processes_thread_count(processes), 3);
}

static void test_reused_tid(void **state)
{
	struct thread *before = get(task(10, 11, 500, 400, 1));
	struct thread *after = get(task(10, 11, 900, 400, 1));

	assert_ptr_not_equal(before, after);
	assert_ptr_equal(before->process, after->process);
	assert_int_equal(after->number, 1);
	assert_ptr_equal(get(task(10, 11, 500, 400, 1)), before);
}

/* The tid of a thread that ended becomes a process's. */
static void test_tid_becomes_pid(void **state)
{
	struct thread *thread = get(task(10, 11, 500, 400, 1));
	struct thread *leader = get(task(11, 11, 900, 900, 1));

	assert_ptr_not_equal(thread->process, leader->process);
	assert_ptr_equal(processes_latest(processes, 11), leader->process);
	assert_int_equal(leader->process->life, 0);
}

static void test_reused_pid(void **state)
{
	struct process *first = image(10, 400, 5);
	struct process *second = image(10, 900, 1);

	assert_ptr_not_equal(first, second);
	assert_int_equal(second->number, 1);
	assert_int_equal(second->life, 1);
	assert_ptr_equal(second->previous, first);
	assert_ptr_equal(processes_latest(processes, 10), second);
}

static void test_exec(void **state)
{
	struct process *shell = image(10, 400, 1);
	struct process *program = image(10, 400, 2);

	assert_ptr_not_equal(shell, program);
	assert_int_equal(program->life, 1);
	assert_ptr_equal(program->previous, shell);
	assert_null(shell->previous);
	assert_ptr_equal(processes_latest(processes, 10), program);
	assert_int_equal(program->threads.items[0]->number, 0);
	assert_ptr_equal(image(10, 400, 1), shell);
	assert_ptr_equal(processes_latest(processes, 10), program);
}

/* Samples of an image may come after the exec that replaced it: it takes its place in the row. */
static void test_late_image(void **state)
{
	struct process *third = image(10, 400, 3);
	struct process *first = image(10, 400, 1);
	struct process *second = image(10, 400, 2);
	struct process *next = image(10, 900, 0);

	assert_ptr_equal(processes_latest(processes, 10), next);
	assert_ptr_equal(next->previous, third);
	assert_ptr_equal(third->previous, second);
	assert_ptr_equal(second->previous, first);
	assert_null(first->previous);
	assert_int_equal(third->number, 0);
	assert_int_equal(next->number, 3);
}

/* Lives tell the images under one pid apart in the profile: no two are the same. */
static void test_lives_differ(void **state)
{
	static const uint32_t exec_ids[] = {1, 5, 3, 6, 2, 7, 4};
	bool is_taken[7] = {false};
	size_t i;

	for (i = 0; i < 7; i++) {
		uint32_t life = image(10, 400, exec_ids[i])->life;

		assert_in_range(life, 0, 6);
		assert_false(is_taken[life]);
		is_taken[life] = true;
	}
	assert_int_equal(image(10, 400, 1)->life, 0);
	assert_int_equal(image(11, 400, 1)->life, 0);
}

static void test_many(void **state)
{
	struct thread *threads[3000];
	uint32_t i;

	for (i = 0; i < 3000; i++)
		threads[i] = get(task(i / 10, i, i, i / 10, 0));
	assert_int_equal(processes_count(processes), 300);
	assert_int_equal(processes_thread_count(processes), 3000);
	for (i = 0; i < 3000; i++) {
		assert_ptr_equal(get(task(i / 10, i, i, i / 10, 0)), threads[i]);
		assert_int_equal(threads[i]->number, i % 10);
		assert_ptr_equal(threads[i]->process, processes_at(processes, i / 10));
	}
}

/* Whatever fails, the table stays whole: the counts are right, and another try succeeds. */
static int meet_some(void *context)
{
	struct processes *some;
	struct thread *thread;
	int err = processes_open(&some), first_err;
	uint32_t i;

	if (err)
		return err;
	for (i = 0, first_err = 0; i < 40; i++) {
		const struct gb_task named = task(i / 2 % 10, i, i, i % 2 ? i - 1 : i, 0);

		thread = NULL;
		err = processes_thread(some, &named, &thread);
		if (err) {
			first_err = err;
			assert_null(thread);
			assert_int_equal(processes_thread_count(some), i);
			assert_int_equal(processes_thread(some, &named, &thread), 0);
		}
		assert_int_equal(thread->tid, i);
		assert_int_equal(thread->number, i % 2);
		assert_ptr_equal(processes_latest(some, i / 2 % 10), thread->process);
	}
	assert_int_equal(processes_count(some), 20);
	assert_int_equal(processes_thread_count(some), 40);
	processes_close(some);
	return first_err;
}

/* ---- dropping ---------------------------------------------------------------------------------- */

static bool is_of_tgid(void *context, struct process *process)
{
	return process->tgid == *(uint32_t *)context;
}

static size_t drop_tgid(uint32_t tgid)
{
	return processes_sweep(processes, is_of_tgid, &tgid);
}

static bool is_odd(void *context, const struct thread *thread)
{
	return thread->tid % 2;
}

static void test_drop_process(void **state)
{
	struct process *first = image(10, 400, 1), *second = image(20, 500, 1),
		       *third = image(30, 600, 1);

	second->cmdline = shared_text_new("a program", 9);
	get(task(20, 21, 501, 500, 1));
	assert_int_equal(drop_tgid(20), 1);
	assert_int_equal(processes_count(processes), 2);
	assert_int_equal(processes_thread_count(processes), 2);
	assert_ptr_equal(processes_at(processes, 0), first);
	assert_ptr_equal(processes_at(processes, 1), third);
	assert_null(processes_latest(processes, 20));
	assert_int_equal(third->number, 2);
	/* Who comes next gets the number; who is named again, though it was the last one met, is new. */
	second = get(task(20, 21, 501, 500, 1))->process;
	assert_int_equal(second->number, 1);
	assert_null(second->cmdline);
	assert_int_equal(second->threads.count, 1);
	assert_int_equal(image(40, 700, 1)->number, 3);
	assert_int_equal(drop_tgid(99), 0);
}

static bool is_same(void *context, struct process *process)
{
	return process == context;
}

/* The images of a tgid lead to each other whichever of them goes; without any, it starts over. */
static void test_drop_lives(void **state)
{
	struct process *images[4];
	uint32_t i;

	for (i = 0; i < 4; i++)
		images[i] = image(10, 400, i);
	assert_int_equal(processes_sweep(processes, is_same, images[1]), 1);
	assert_ptr_equal(images[2]->previous, images[0]);
	assert_int_equal(processes_sweep(processes, is_same, images[3]), 1);
	assert_ptr_equal(processes_latest(processes, 10), images[2]);
	assert_int_equal(image(10, 400, 4)->life, 4);
	assert_int_equal(processes_sweep(processes, is_same, images[0]), 1);
	assert_null(images[2]->previous);
	assert_int_equal(drop_tgid(10), 2);
	assert_null(processes_latest(processes, 10));
	assert_int_equal(image(10, 400, 5)->life, 0);
}

static void test_drop_threads(void **state)
{
	struct process *process = image(10, 400, 0);
	uint32_t tid;

	for (tid = 11; tid <= 20; tid++)
		get(task(10, tid, 400 + tid, 400, 0));
	image(30, 600, 0);
	assert_int_equal(processes_sweep_threads(processes, process, is_odd, NULL), 5);
	assert_int_equal(process->threads.count, 6);
	assert_int_equal(processes_thread_count(processes), 7);
	for (tid = 0; tid < 6; tid++) {
		assert_int_equal(process->threads.items[tid]->tid, 10 + 2 * tid);
		assert_int_equal(process->threads.items[tid]->number, 2 * tid);
	}
	/* Five numbers are free, below that of the last thread. */
	for (tid = 31; tid < 36; tid++) {
		assert_true(get(task(10, tid, 400 + tid, 400, 0))->number % 2);
		assert_true(get(task(10, tid, 400 + tid, 400, 0))->number < 10);
	}
	assert_int_equal(process->threads.numbers.top, 11);
}

/* Which thread a number means depends on when it was used. */
static void test_resolve(void **state)
{
	struct thread_alias aliases[] = {{0, 3, 9}, {200, 3, 5}, {300, 3, 6}, {100, 4, 7}};
	struct threads threads = {0};

	assert_int_equal(threads_resolve(&threads, 3, 50), 3);
	threads.aliases.items = aliases;
	threads.aliases.count = 4;
	assert_int_equal(threads_resolve(&threads, 3, 0), 9);
	assert_int_equal(threads_resolve(&threads, 3, 199), 9);
	assert_int_equal(threads_resolve(&threads, 3, 200), 5);
	assert_int_equal(threads_resolve(&threads, 3, 299), 5);
	assert_int_equal(threads_resolve(&threads, 3, UINT64_MAX), 6);
	assert_int_equal(threads_resolve(&threads, 4, 99), 4);
	assert_int_equal(threads_resolve(&threads, 4, 100), 7);
	assert_int_equal(threads_resolve(&threads, 2, 300), 2);
	assert_int_equal(threads_resolve(&threads, 5, 300), 5);
}

/* A number that means one thread at any time, though its own was another's for a while. */
static void test_number_for(void **state)
{
	const struct thread thread = {.number = 3};
	struct threads threads = {.numbers.top = 8};
	uint32_t said;

	assert_int_equal(threads_number_for(&threads, &thread, &said), 0);
	assert_int_equal(said, 3);
	assert_int_equal(threads.numbers.top, 8);
	threads.aliases.items = calloc(1, sizeof(*threads.aliases.items));
	assert_non_null(threads.aliases.items);
	threads.aliases.items[0] = (struct thread_alias){200, 3, 5};
	threads.aliases.count = threads.aliases.capacity = 1;
	assert_int_equal(threads_number_for(&threads, &thread, &said), 0);
	assert_int_equal(said, 8);
	assert_int_equal(threads.numbers.top, 9);
	assert_int_equal(threads_resolve(&threads, said, 0), 3);
	assert_int_equal(threads_resolve(&threads, said, UINT64_MAX), 3);
	assert_int_equal(threads_resolve(&threads, 3, 300), 5);
	alloc_fail_at(1);
	assert_int_equal(threads_number_for(&threads, &thread, &said), -ENOMEM);
	assert_true(alloc_fail_stop());
	free(threads.aliases.items);
}

static bool goes_always(void *context, struct process *process)
{
	return true;
}

static void test_bytes(void **state)
{
	size_t empty, full;
	uint32_t i;

	image(1, 1, 0);
	empty = processes_bytes(processes);
	for (i = 0; i < 1000; i++)
		image(10 + i, 400, 0);
	full = processes_bytes(processes);
	assert_in_range(full - empty, 1000 * 400, 1000 * 1100);
	assert_int_equal(processes_sweep(processes, goes_always, NULL), 1001);
	assert_true(processes_bytes(processes) < empty + 1000 * 32); /* arrays do not shrink */
	assert_int_equal(processes_thread_count(processes), 0);
}

static void test_no_memory(void **state)
{
	assert_true(alloc_fail_each(meet_some, NULL) > 90);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, open_processes, close_processes)
	const struct CMUnitTest tests[] = {
		FRESH(test_nothing),
		FRESH(test_made_on_sight),
		FRESH(test_threads_of_one_process),
		FRESH(test_reused_tid),
		FRESH(test_tid_becomes_pid),
		FRESH(test_reused_pid),
		FRESH(test_exec),
		FRESH(test_late_image),
		FRESH(test_lives_differ),
		FRESH(test_many),
		FRESH(test_drop_process),
		FRESH(test_drop_lives),
		FRESH(test_drop_threads),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_number_for),
		FRESH(test_bytes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
