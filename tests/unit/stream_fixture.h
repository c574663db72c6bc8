/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_fixture.h - a recording of one process that is written as it goes on, and read back. After cmocka.h.
 *
 *   put(tid, 5); write_on(false); forget_thread(tid); put(other, 5); write_on(true);
 *   process = read_back(&archive, &seen);
 */
#ifndef GECKOBPF_TESTS_STREAM_FIXTURE_H
#define GECKOBPF_TESTS_STREAM_FIXTURE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc.h"
#include "archive/archive.h"
#include "base/clock.h"
#include "base/fd.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

#define PERIOD_NS NS_PER_MS
#define TGID 42

/* ---- a recording that is streamed ---------------------------------------------------------- */

static struct {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct process *process; /* of TGID */
	struct recording_facts facts;
	struct section_writer *sections;
	struct archive_writer writer;
	uint64_t now_ns;
	uint32_t next_serial;
	bool loses; /* what is written goes nowhere */
	int fd;
} made;

static inline int write_fd(void *context, const void *bytes, size_t size)
{
	return made.loses ? 0 : fd_write_all(made.fd, bytes, size);
}

static inline int open_recording(void)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	const struct section_sink sink = {write_fd, NULL};
	int err;

	memset(&made, 0, sizeof(made));
	made.now_ns = 100 * NS_PER_SEC;
	made.facts = (struct recording_facts){.product = "demo",
					      .start_ns = made.now_ns,
					      .end_ns = made.now_ns,
					      .interval_ns = PERIOD_NS};
	made.fd = memfd_create("stream", MFD_CLOEXEC);
	err = processes_open(&made.processes);
	if (!err)
		err = objects_open(&made.objects, 0);
	if (!err)
		err = profile_memory_open(&made.memory, &config);
	if (!err)
		err = section_writer_open(&made.sections, &sink);
	made.writer.sections = made.sections;
	return err ? err : archive_write_head(&made.writer, &made.facts);
}

static inline bool forget_process(void *context, struct process *process)
{
	profile_buffer_close(process->buffer);
	process->buffer = NULL;
	return true;
}

static inline void close_recording(void)
{
	if (made.processes)
		processes_sweep(made.processes, forget_process, NULL);
	processes_close(made.processes);
	objects_close(made.objects);
	profile_memory_close(made.memory);
	archive_writer_clear(&made.writer);
	section_writer_close(made.sections);
	close(made.fd);
}

static inline int setup(void **state)
{
	return open_recording();
}

static inline int teardown(void **state)
{
	close_recording();
	return 0;
}

static inline int get_thread(uint32_t tid, struct thread **out)
{
	const struct gb_task task = {
		.tgid = TGID, .tid = tid, .start_ns = tid, .group_start_ns = TGID, .exec_id = 1};
	const struct profile_buffer_config config = {
		.memory = made.memory,
		.process_id = TGID,
		.period_ns = PERIOD_NS,
	};
	int err = processes_thread(made.processes, &task, out);

	if (err)
		return err;
	made.process = (*out)->process;
	return made.process->buffer ? 0 : profile_buffer_open(&made.process->buffer, &config);
}

/* Samples of a thread, one a period. */
static inline int put(uint32_t tid, size_t count)
{
	const struct frame frames[] = {{.value = 0x1000}, {.value = 0x1100 + tid % 7}};
	struct sample_entry sample = {.weight = 1, .frames = frames, .frame_count = 2};
	struct thread *thread;
	int err = get_thread(tid, &thread);

	while (!err && count--) {
		made.now_ns += PERIOD_NS;
		sample.thread = thread->number;
		sample.time_ns = made.now_ns;
		err = profile_buffer_put_sample(made.process->buffer, &sample);
	}
	return err;
}

static inline int write_news(void)
{
	size_t i;
	int err = 0;

	for (i = 0; i < objects_count(made.objects) && !err; i++) {
		const struct object *object = objects_at(made.objects, i);

		if (object->serial < made.next_serial)
			continue;
		err = archive_write_file(&made.writer, object);
		made.next_serial = object->serial + 1;
	}
	for (i = 0; i < processes_count(made.processes) && !err; i++)
		if (processes_at(made.processes, i)->is_changed)
			err = archive_write_process(&made.writer, processes_at(made.processes, i),
						    false);
	return err;
}

/* What is new, as session's stream does it. */
static inline int write_on(bool is_last)
{
	size_t i;
	int err = write_news();

	for (i = 0; i < processes_count(made.processes) && !err; i++) {
		struct process *process = processes_at(made.processes, i);

		err = archive_write_blocks(&made.writer, process, &process->archived);
	}
	made.facts.end_ns = made.now_ns;
	return err ? err : archive_write_end(&made.writer, &made.facts, is_last);
}

/* Time goes by in which nothing happens, and what ended long ago can be forgotten. */
static inline void wait_long(void)
{
	made.now_ns += 3 * NS_PER_SEC;
	made.facts.end_ns = made.now_ns;
	assert_int_equal(write_on(false), 0);
}

static inline bool is_thread(void *context, const struct thread *thread)
{
	return thread->tid == *(uint32_t *)context;
}

static inline void forget_thread(uint32_t tid)
{
	wait_long();
	assert_int_equal(processes_sweep_threads(made.processes, made.process, is_thread, &tid), 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct seen {
	const struct process *process;
	uint64_t samples, last_ns;
	struct {
		uint32_t tid;
		uint64_t samples;
	} threads[8];
};

static inline int on_restart(void *context)
{
	return 0;
}

static inline int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

static inline uint32_t tid_of(const struct process *process, uint32_t number)
{
	uint32_t tid = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		if (process->threads.items[i]->number != number)
			continue;
		assert_int_equal(tid, 0);
		tid = process->threads.items[i]->tid;
	}
	assert_true(number < process->threads.numbers.top);
	return tid;
}

static inline int on_sample(void *context, const struct sample_view *sample)
{
	struct seen *seen = context;
	uint32_t number = threads_resolve(&seen->process->threads, sample->thread, sample->time_ns);
	uint32_t tid = tid_of(seen->process, number);
	size_t i = 0;

	assert_true(sample->time_ns > seen->last_ns);
	seen->last_ns = sample->time_ns;
	seen->samples++;
	while (seen->threads[i].tid && seen->threads[i].tid != tid)
		i++;
	assert_true(i < 8);
	seen->threads[i].tid = tid;
	seen->threads[i].samples++;
	return 0;
}

/* What an archive has of TGID. */
static inline void look_at(const struct archive *archive, struct seen *seen)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, NULL};

	memset(seen, 0, sizeof(*seen));
	seen->process = processes_latest(archive->processes, TGID);
	assert_non_null(seen->process);
	profile_memory_pause(archive->memory);
	if (seen->process->buffer)
		assert_int_equal(profile_buffer_read(seen->process->buffer, &visitor, seen), 0);
	profile_memory_resume(archive->memory);
}

static inline struct process *read_back(struct archive *archive, struct seen *seen)
{
	assert_int_equal(archive_read(archive, made.fd, NULL), 0);
	look_at(archive, seen);
	return processes_latest(archive->processes, TGID);
}

static inline void assert_whole(const struct archive *archive)
{
	assert_int_equal(archive->damage.bytes + archive->bad_sections + archive->unknown_sections +
				 archive->lost_blocks,
			 0);
}

static inline uint64_t samples_of(const struct seen *seen, uint32_t tid)
{
	size_t i;

	for (i = 0; i < 8; i++)
		if (seen->threads[i].tid == tid)
			return seen->threads[i].samples;
	return 0;
}

#endif
