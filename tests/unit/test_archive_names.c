/* SPDX-License-Identifier: BSD-2-Clause */
/* test_archive_names.c - what the recording forgets while it is streamed, and names that it uses again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/shared_text.h"
#include "stream_fixture.h"

/* ---- threads ----------------------------------------------------------------------------------- */

/* A number that is used again: each sample is of the thread that had it then. */
static void test_number_used_again(void **state)
{
	struct archive archive;
	struct process *process;
	struct thread *thread;
	struct seen seen;
	uint32_t number, tid;

	assert_int_equal(put(TGID, 5), 0);
	assert_int_equal(put(50, 7), 0);
	number = made.process->threads.items[1]->number;
	for (tid = 51; tid < 54; tid++) {
		forget_thread(tid - 1);
		assert_int_equal(put(TGID, 5), 0);
		assert_int_equal(get_thread(tid, &thread), 0);
		assert_int_equal(thread->number, number);
		assert_int_equal(put(tid, tid), 0);
	}
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(process->threads.count, 5);
	assert_int_equal(samples_of(&seen, TGID), 20);
	assert_int_equal(samples_of(&seen, 50), 7);
	assert_int_equal(samples_of(&seen, 51), 51);
	assert_int_equal(samples_of(&seen, 52), 52);
	assert_int_equal(samples_of(&seen, 53), 53);
	archive_close(&archive);
}

/* A thread that was forgotten, and of which a sample came all the same: it is one thread, with two numbers. */
static void test_thread_made_anew(void **state)
{
	struct archive archive;
	struct process *process;
	struct thread *thread;
	struct seen seen;

	assert_int_equal(put(TGID, 5), 0);
	assert_int_equal(get_thread(50, &thread), 0);
	strcpy(thread->name, "worker");
	thread->born_ns = 77;
	thread->cpu_first_ns = 5;
	thread->cpu_last_ns = 9;
	assert_int_equal(put(50, 7), 0);
	forget_thread(50);
	assert_int_equal(put(51, 3), 0);
	assert_int_equal(put(50, 2), 0);
	assert_int_equal(get_thread(50, &thread), 0);
	assert_int_equal(thread->number, 2);
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(process->threads.count, 3);
	assert_int_equal(samples_of(&seen, 50), 9);
	assert_int_equal(samples_of(&seen, 51), 3);
	thread = process->threads.items[1];
	assert_int_equal(thread->tid, 50);
	assert_string_equal(thread->name, "worker");
	assert_int_equal(thread->born_ns, 77);
	assert_int_equal(thread->cpu_first_ns, 5);
	assert_int_equal(thread->cpu_last_ns, 9);
	archive_close(&archive);
}

/* A file that goes on later than another of the same recording: what it has besides is taken, whatever its threads' numbers say there. */
static void test_merged(void **state)
{
	struct archive first, second;
	struct seen seen;

	assert_int_equal(put(TGID, 5), 0);
	assert_int_equal(put(50, 7), 0);
	forget_thread(50);
	assert_int_equal(put(51, 3), 0);
	assert_int_equal(write_on(false), 0);
	assert_int_equal(archive_read(&first, made.fd, NULL), 0);
	assert_int_equal(put(51, 4), 0);
	forget_thread(51);
	assert_int_equal(put(52, 2), 0);
	assert_int_equal(put(51, 1), 0);
	assert_int_equal(put(TGID, 1), 0);
	assert_int_equal(write_on(true), 0);
	assert_int_equal(archive_read(&second, made.fd, NULL), 0);
	assert_int_equal(archive_merge(&first, &second, NULL), 0);
	archive_close(&second);
	assert_whole(&first);
	look_at(&first, &seen);
	assert_int_equal(samples_of(&seen, TGID), 6);
	assert_int_equal(samples_of(&seen, 50), 7);
	assert_int_equal(samples_of(&seen, 51), 8);
	assert_int_equal(samples_of(&seen, 52), 2);
	assert_int_equal(seen.samples, 23);
	archive_close(&first);
}

/* More of them than a record may have. */
static void test_many_threads(void **state)
{
	struct archive archive;
	struct process *process;
	struct thread *thread;
	struct seen seen;
	uint32_t i;

	for (i = 0; i < 5000; i++)
		assert_int_equal(get_thread(TGID + i, &thread), 0);
	assert_int_equal(write_on(false), 0);
	assert_false(made.process->is_changed);
	assert_false(thread->is_changed);
	thread = made.process->threads.items[4321];
	strcpy(thread->name, "late");
	thread_note_changed(thread);
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(process->threads.count, 5000);
	assert_int_equal(process->threads.aliases.count, 0);
	for (i = 0; i < 5000; i++) {
		assert_int_equal(process->threads.items[i]->tid, TGID + i);
		assert_int_equal(process->threads.items[i]->number, i);
		assert_string_equal(process->threads.items[i]->name, i == 4321 ? "late" : "");
	}
	archive_close(&archive);
}

/* ---- mappings and files ------------------------------------------------------------------------ */

static void map(const char *path, uint64_t start)
{
	const struct object_sighting sighting = {.path = path, .inode = start};
	struct mapping mapping = {.start = start, .end = start + 0x1000, .from_ns = made.now_ns};

	assert_int_equal(objects_get(made.objects, &sighting, &mapping.object), 0);
	assert_int_equal(address_space_add(&made.process->space, &mapping), 0);
	made.process->is_changed = true;
}

static bool any_object(void *context, const struct object *object)
{
	return true;
}

static void use_object(void *context, const struct mapping *mapping)
{
	mapping->object->is_used = true;
}

/* Drops what others have covered, and the files that nobody maps any more. */
static void forget_mappings(size_t count)
{
	wait_long();
	assert_int_equal(address_space_expire(&made.process->space, made.now_ns), count);
	address_space_visit(&made.process->space, address_space_round(), use_object, NULL);
	assert_int_equal(objects_sweep(made.objects, any_object, NULL), count);
}

static const char *path_at(const struct process *process, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(&process->space, address, time_ns);

	assert_non_null(mapping);
	return mapping->object->path;
}

static void test_mappings_forgotten(void **state)
{
	struct archive archive;
	struct process *process;
	struct seen seen;
	uint64_t first_ns, second_ns;

	assert_int_equal(put(TGID, 5), 0);
	map("/liba.so", 0x1000);
	map("/libz.so", 0x8000);
	first_ns = made.now_ns;
	assert_int_equal(put(TGID, 5), 0);
	map("/libb.so", 0x1000);
	second_ns = made.now_ns;
	forget_mappings(1);
	assert_int_equal(made.process->space.archived, 3);
	/* Has the number of the file that was forgotten. */
	map("/libc.so", 0x1000);
	assert_int_equal(objects_at(made.objects, 2)->number, 0);
	assert_int_equal(write_on(false), 0);
	forget_mappings(1);
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(process->space.count, 4);
	assert_string_equal(path_at(process, 0x1100, first_ns), "/liba.so");
	assert_string_equal(path_at(process, 0x1100, second_ns), "/libb.so");
	assert_string_equal(path_at(process, 0x1100, made.now_ns), "/libc.so");
	assert_string_equal(path_at(process, 0x8000, first_ns), "/libz.so");
	archive_close(&archive);
}

/* ---- images ------------------------------------------------------------------------------------ */

static void test_process_made_anew(void **state)
{
	struct archive archive;
	struct process *process;
	struct seen seen;

	assert_int_equal(put(TGID, 5), 0);
	assert_int_equal(put(50, 7), 0);
	strcpy(made.process->name, "demo");
	made.process->cmdline = shared_text_new("demo -x", 7);
	made.process->died_ns = made.now_ns;
	wait_long();
	assert_int_equal(processes_sweep(made.processes, forget_process, NULL), 1);
	/* It begins with another thread. */
	assert_int_equal(put(50, 3), 0);
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(processes_count(archive.processes), 1);
	assert_string_equal(process->name, "demo");
	assert_string_equal(process->cmdline, "demo -x");
	assert_int_equal(samples_of(&seen, TGID), 5);
	assert_int_equal(samples_of(&seen, 50), 10);
	archive_close(&archive);
}

/* After all of a pid was forgotten, its images are counted from 0 on again. */
static void test_lives(void **state)
{
	const struct gb_task reused = {
		.tgid = TGID, .tid = TGID, .start_ns = 900, .group_start_ns = 900, .exec_id = 9};
	struct archive archive;
	struct process *process;
	struct thread *thread;
	struct seen seen;

	assert_int_equal(put(TGID, 5), 0);
	wait_long();
	assert_int_equal(processes_sweep(made.processes, forget_process, NULL), 1);
	assert_int_equal(processes_thread(made.processes, &reused, &thread), 0);
	assert_int_equal(thread->process->life, 0);
	assert_int_equal(write_on(true), 0);
	process = read_back(&archive, &seen);
	assert_whole(&archive);
	assert_int_equal(process->key_ns, 900);
	assert_int_equal(process->life, 1);
	assert_int_equal(process->previous->life, 0);
	archive_close(&archive);
}

int main(void)
{
#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FRESH(test_number_used_again),
		FRESH(test_thread_made_anew),
		FRESH(test_merged),
		FRESH(test_many_threads),
		FRESH(test_mappings_forgotten),
		FRESH(test_process_made_anew),
		FRESH(test_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
