/* SPDX-License-Identifier: BSD-2-Clause */
/* What task records mean, in order and out of it: processes, threads and images come and go, and have names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/shared_text.h"
#include "alloc.h"
#include "records_fixture.h"

/* ---- lives -------------------------------------------------------------------------------------------------- */

static void test_seen(void **state)
{
	struct gb_task_event event = event_of(GB_TASK_SEEN, 50, task(10, 11, 1), "worker");
	struct thread *thread;

	event.cpu_ns = 400;
	apply_event(&event);
	thread = thread_of(task(10, 11, 1));
	assert_string_equal(thread->name, "worker");
	assert_string_equal(thread->process->name, "worker"); /* until its first thread is seen */
	assert_int_equal(thread->born_ns, 0);
	assert_int_equal(thread->cpu_first_ns, 400);
	assert_int_equal(thread->cpu_last_ns, 400);
	tell(GB_TASK_SEEN, 50, task(10, 10, 1), "main");
	assert_string_equal(thread->process->name, "main");
	assert_int_equal(counts()->live_processes, 1);
	assert_false(thread->process->is_root);
	assert_false(thread->process->is_kernel);
	event = event_of(GB_TASK_SEEN, 50, task(2, 2, 0), "kthreadd");
	event.is_kernel = 1;
	apply_event(&event);
	assert_true(image_of(2, 0)->is_kernel);
	assert_no_loss();
}

static void test_expected_is_root(void **state)
{
	assert_int_equal(records_expect(world.records, 10), 0);
	assert_int_equal(records_expect(world.records, 12), 0);
	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell(GB_TASK_SEEN, 1, task(11, 11, 0), "b");
	tell(GB_TASK_SEEN, 1, task(12, 12, 0), "c");
	tell(GB_TASK_EXEC, 2, task(12, 12, 1), "d");
	assert_true(image_of(10, 0)->is_root);
	assert_false(image_of(11, 0)->is_root);
	assert_true(image_of(12, 0)->is_root);
	assert_true(image_of(12, 1)->is_root);
}

static void test_fork_of_a_process(void **state)
{
	struct process *child;

	tell(GB_TASK_SEEN, 1, task(10, 10, 3), "shell");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/sh");
	image_of(10, 3)->cmdline = shared_text_new("sh -c x", 7);
	tell_fork(5, task(10, 10, 3), task(20, 20, 0), "shell");
	tell_map(RECORD_MAP, 6, 10, 0x8000, "/nonexistent/later");
	child = image_of(20, 0);
	assert_int_equal(child->born_ns, 5);
	assert_int_equal(child->parent.tgid, 10);
	assert_int_equal(child->parent.exec_id, 3);
	assert_int_equal(child->parent.key_ns, image_of(10, 3)->key_ns);
	assert_false(child->is_execed);
	/* What it becomes has the same parent. */
	tell_exec(20, 20, 1, "program", "/nonexistent/program");
	assert_int_equal(image_of(20, 1)->parent.tgid, 10);
	assert_true(image_of(20, 1)->is_execed);
	assert_int_equal(child->threads.items[0]->born_ns, 5);
	assert_int_equal(child->threads.items[0]->cpu_first_ns, 0);
	assert_string_equal(child->name, "shell");
	assert_string_equal(child->cmdline, "sh -c x");
	assert_ptr_equal(child->cmdline, image_of(10, 3)->cmdline);
	assert_string_equal(path_at(child, 0x1000, 5), "/nonexistent/sh");
	assert_string_equal(path_at(child, 0x8000, 9), "");
	assert_int_equal(counts()->live_processes, 2);
	assert_no_loss();
}

static void test_fork_of_a_thread(void **state)
{
	struct thread *thread;

	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "main");
	tell_fork(5, task(10, 10, 0), task(10, 11, 0), "main");
	thread = thread_of(task(10, 11, 0));
	assert_int_equal(thread->born_ns, 5);
	assert_int_equal(thread->cpu_first_ns, 0);
	assert_int_equal(thread->process->born_ns, 0);
	assert_int_equal(counts()->live_processes, 1);
}

/* Its own parent; a parent that nobody has heard of. */
static void test_odd_parents(void **state)
{
	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "a");
	tell_map(RECORD_MAP, 1, 10, 0x1000, "/nonexistent/a");
	tell_map(RECORD_MAP, 1, 10, 0x1800, "/nonexistent/b");
	tell_fork(5, task(10, 10, 0), task(10, 10, 0), "a");
	assert_true(image_of(10, 0)->space.count <= 4);
	tell_fork(5, task(30, 30, 0), task(31, 31, 0), "b");
	assert_int_equal(image_of(31, 0)->born_ns, 5);
	assert_int_equal(image_of(30, 0)->threads.count, 1);
	assert_no_loss();
}

static void test_exit(void **state)
{
	struct process *process;

	tell_fork(5, task(10, 10, 0), task(20, 20, 0), "p");
	tell_fork(6, task(20, 20, 0), task(20, 21, 0), "t");
	process = image_of(20, 0);
	assert_int_equal(counts()->live_processes, 1); /* 10 is only known as the parent */
	tell_exit(8, task(20, 20, 0), 100, 1);
	assert_int_equal(thread_of(task(20, 20, 0))->died_ns, 8);
	assert_int_equal(thread_of(task(20, 20, 0))->cpu_last_ns, 100);
	assert_int_equal(process->died_ns, 0);
	assert_int_equal(counts()->live_processes, 1);
	tell_exit(9, task(20, 21, 0), 30, 0);
	assert_int_equal(thread_of(task(20, 21, 0))->died_ns, 9);
	assert_int_equal(process->died_ns, 9);
	assert_int_equal(counts()->live_processes, 0);
	/* Once more, and what else may be said of the dead, changes nothing. */
	tell_exit(12, task(20, 21, 0), 30, 0);
	tell(GB_TASK_RENAME, 13, task(20, 21, 0), "late");
	tell_sample(14, task(20, 21, 0));
	assert_int_equal(process->died_ns, 9);
	assert_int_equal(counts()->live_processes, 0);
	assert_int_equal(counts()->samples, 1);
}

static void tell_end(struct gb_task named, int32_t status, uint64_t rss_bytes, size_t size)
{
	struct gb_task_event event = event_of(GB_TASK_EXIT, 9, named, "x");

	event.exit_code = status;
	event.max_rss_bytes = rss_bytes;
	event.hdr.size = (uint32_t)size;
	apply_event(&event);
}

/* A process ends with what its first thread did, whatever others say before and after; recordings of before say less. */
static void test_how_it_ended(void **state)
{
	const size_t before = offsetof(struct gb_task_event, max_rss_bytes);
	const size_t whole = sizeof(struct gb_task_event);
	const struct process_end *end;

	tell_fork(5, task(10, 10, 0), task(20, 20, 0), "p");
	end = &image_of(20, 0)->end;
	assert_false(end->is_known);
	tell_end(task(20, 21, 0), 9, 0, whole);
	assert_true(end->is_known);
	assert_int_equal(end->status, 9);
	tell_end(task(20, 20, 0), 256, 4096, whole);
	tell_end(task(20, 22, 0), 11, 8192, whole);
	assert_int_equal(end->status, 256);
	assert_int_equal(end->max_rss_bytes, 8192);
	tell_end(task(30, 30, 0), 139, 4096, before);
	end = &image_of(30, 0)->end;
	assert_int_equal(end->status, 139);
	assert_int_equal(end->max_rss_bytes, 0);
	assert_int_equal(counts()->bad_records, 0);
}

/* An exit is all that is heard of a process. */
static void test_only_exit(void **state)
{
	tell_exit(9, task(20, 20, 0), 30, 0);
	assert_int_equal(image_of(20, 0)->died_ns, 9);
	assert_int_equal(image_of(20, 0)->threads.items[0]->cpu_first_ns, 30);
	assert_int_equal(counts()->live_processes, 0);
}

/* No kernel says that something ended at 0; a record may. Who ended is not alive, and ends once. */
static void test_exit_at_zero(void **state)
{
	tell(GB_TASK_SEEN, 1, task(20, 20, 0), "p");
	assert_int_equal(counts()->live_processes, 1);
	tell_exit(0, task(20, 20, 0), 30, 0);
	assert_int_equal(image_of(20, 0)->died_ns, 1);
	assert_int_equal(counts()->live_processes, 0);
	tell_exit(0, task(20, 20, 0), 30, 0);
	assert_int_equal(counts()->live_processes, 0);
}

static void test_rename(void **state)
{
	tell(GB_TASK_SEEN, 1, task(10, 10, 0), "first");
	tell(GB_TASK_SEEN, 1, task(10, 11, 0), "helper");
	tell(GB_TASK_RENAME, 2, task(10, 11, 0), "renamed");
	assert_string_equal(thread_of(task(10, 11, 0))->name, "renamed");
	assert_string_equal(thread_of(task(10, 11, 0))->name_before, "helper");
	assert_string_equal(image_of(10, 0)->name, "first");
	tell(GB_TASK_RENAME, 3, task(10, 10, 0), "second");
	assert_string_equal(image_of(10, 0)->name, "second");
	/* A name without its NUL ends where its room does. */
	tell(GB_TASK_RENAME, 4, task(10, 10, 0), "0123456789abcdef");
	assert_string_equal(image_of(10, 0)->name, "0123456789abcde");
}

/* ---- exec -------------------------------------------------------------------------------------------------- */

static void test_exec(void **state)
{
	struct process *shell, *program;

	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "shell");
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/sh");
	tell_fork(3, task(10, 10, 1), task(10, 11, 1), "aside");
	tell_exec(10, 10, 2, "program", "/nonexistent/program");
	shell = image_of(10, 1);
	program = image_of(10, 2);
	assert_string_equal(shell->name, "shell");
	assert_string_equal(shell->threads.items[0]->name, "shell");
	assert_int_equal(shell->died_ns, 13);
	assert_int_equal(shell->threads.items[0]->died_ns, 13);
	assert_int_equal(shell->threads.items[0]->cpu_last_ns, 500);
	assert_int_equal(shell->threads.items[1]->died_ns, 13);
	assert_string_equal(path_at(shell, 0x1000, 9), "/nonexistent/sh");
	assert_int_equal(shell->space.count, 1);
	assert_string_equal(program->name, "program");
	assert_int_equal(program->born_ns, 13);
	assert_int_equal(program->died_ns, 0);
	assert_int_equal(program->threads.count, 1);
	assert_int_equal(program->threads.items[0]->born_ns, 13);
	assert_int_equal(program->threads.items[0]->cpu_first_ns, 500);
	assert_string_equal(path_at(program, 0x1000, 20), "/nonexistent/program");
	assert_int_equal(program->space.count, 1);
	assert_int_equal(counts()->live_processes, 1);
	/* What is mapped from now on is the new image's. */
	tell_map(RECORD_MAP, 20, 10, 0x5000, "/nonexistent/lib");
	assert_int_equal(program->space.count, 2);
	assert_int_equal(shell->space.count, 1);
	assert_no_loss();
}

/* A rename of its own, long before exec, is not undone; only exec's is. */
static void test_exec_after_renames(void **state)
{
	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "first");
	tell(GB_TASK_RENAME, 2, task(10, 10, 1), "second");
	tell_exec(10, 10, 2, "program", "/nonexistent/program");
	assert_string_equal(image_of(10, 1)->name, "second");
	tell_exec(20, 10, 3, "again", "/nonexistent/again");
	assert_string_equal(image_of(10, 2)->name, "program");
	assert_string_equal(image_of(10, 3)->name, "again");
	assert_int_equal(counts()->live_processes, 1);
}

/* An exec that failed after it gave up its mappings, then one that did not. */
static void test_exec_twice(void **state)
{
	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "a");
	tell_map(RECORD_IMAGE, 2, 10, 0, "");
	tell_map(RECORD_MAP, 3, 10, 0x9000, "/nonexistent/first");
	tell_exec(10, 10, 2, "b", "/nonexistent/second");
	assert_int_equal(image_of(10, 2)->space.count, 1);
	assert_string_equal(path_at(image_of(10, 2), 0x9000, 20), "");
	assert_string_equal(path_at(image_of(10, 2), 0x1000, 20), "/nonexistent/second");
}

/* It dies between its mappings and its exec event; the pid is used again. */
static void test_exit_within_exec(void **state)
{
	struct gb_task next = task(10, 10, 0);

	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "a");
	tell_map(RECORD_IMAGE, 2, 10, 0, "");
	tell_map(RECORD_MAP, 3, 10, 0x1000, "/nonexistent/a");
	tell_exit(4, task(10, 10, 1), 1, 0);
	next.start_ns = next.group_start_ns = 900000;
	tell_fork(5, task(1, 1, 0), next, "b");
	tell_map(RECORD_MAP, 6, 10, 0x2000, "/nonexistent/b");
	assert_int_equal(thread_of(next)->process->space.count, 1);
	assert_string_equal(path_at(thread_of(next)->process, 0x2000, 9), "/nonexistent/b");
}

/* Samples of images whose exec is still to be told: each exec ends the image before it all the same. */
static void test_samples_before_execs(void **state)
{
	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "a");
	tell_sample(30, task(10, 10, 3));
	assert_int_equal(counts()->live_processes, 2);
	tell_exec(10, 10, 2, "b", "/nonexistent/b");
	assert_int_equal(image_of(10, 1)->died_ns, 13);
	tell_exec(20, 10, 3, "c", "/nonexistent/c");
	assert_int_equal(image_of(10, 2)->died_ns, 23);
	assert_string_equal(image_of(10, 2)->name, "b");
	assert_int_equal(image_of(10, 3)->born_ns, 23);
	assert_int_equal(counts()->live_processes, 1);
	tell_exit(40, task(10, 10, 3), 1, 0);
	assert_int_equal(counts()->live_processes, 0);
}

/* ---- who is told ----------------------------------------------------------------------------------------------- */

struct told {
	const struct process *last;
	size_t calls, mappings; /* of the last one */
	uint64_t died_ns;
};

static void note_change(void *context, struct process *process)
{
	struct told *told = context;

	told->last = process;
	told->calls++;
	told->mappings = process->space.count;
	told->died_ns = process->died_ns;
}

static void assert_told(const struct told *told, size_t calls, const struct process *process,
			size_t mappings)
{
	assert_int_equal(told->calls, calls);
	assert_ptr_equal(told->last, process);
	assert_int_equal(told->mappings, mappings);
	assert_int_equal(told->died_ns, process->died_ns);
}

/* Each change of mappings is told once it has been made, and each death. */
static void test_listener(void **state)
{
	struct told told = {0};

	records_listen(world.records,
		       &(struct records_listener){.changed = note_change, .context = &told});
	tell(GB_TASK_SEEN, 1, task(10, 10, 1), "shell");
	tell(GB_TASK_RENAME, 1, task(10, 10, 1), "sh");
	tell_map(RECORD_MAP, 1, 99, 0x1000, "/nonexistent/other");
	assert_int_equal(told.calls, 0);
	tell_map(RECORD_MAP, 2, 10, 0x1000, "/nonexistent/sh");
	assert_told(&told, 1, image_of(10, 1), 1);
	tell_fork(3, task(10, 10, 1), task(10, 11, 1), "thread");
	assert_int_equal(told.calls, 1);
	tell_fork(4, task(10, 10, 1), task(20, 20, 1), "child");
	assert_told(&told, 2, image_of(20, 1), 1);
	/* Mappings of an image that is still to come are nobody's; its exec ends one process and changes another. */
	tell_exec(10, 20, 2, "program", "/nonexistent/program");
	assert_int_equal(image_of(20, 1)->died_ns, 13);
	assert_told(&told, 4, image_of(20, 2), 1);
	tell_exit(20, task(20, 20, 2), 1, 1);
	assert_int_equal(told.calls, 4);
	tell_exit(21, task(20, 20, 2), 1, 0);
	assert_told(&told, 5, image_of(20, 2), 1);
	assert_int_equal(told.died_ns, 21);
	tell_exit(22, task(20, 20, 2), 1, 0);
	assert_int_equal(told.calls, 5);
}

static void test_close_null(void **state)
{
	records_close(NULL);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup_world, teardown_world)
	const struct CMUnitTest tests[] = {
		FRESH(test_seen),
		FRESH(test_expected_is_root),
		FRESH(test_fork_of_a_process),
		FRESH(test_fork_of_a_thread),
		FRESH(test_odd_parents),
		FRESH(test_exit),
		FRESH(test_how_it_ended),
		FRESH(test_only_exit),
		FRESH(test_exit_at_zero),
		FRESH(test_rename),
		FRESH(test_exec),
		FRESH(test_exec_after_renames),
		FRESH(test_exec_twice),
		FRESH(test_exit_within_exec),
		FRESH(test_samples_before_execs),
		FRESH(test_listener),
		cmocka_unit_test(test_close_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
