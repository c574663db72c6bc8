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
#include <linux/types.h>

#include "geckobpf_abi.h"
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
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
