/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records_fixture.h - tables and buffers around a struct records, ways to tell it things, and to see what came of them.
 * After cmocka.h.
 *
 *   cmocka_unit_test_setup_teardown(test_x, setup_world, teardown_world)
 *   tell(GB_TASK_EXEC, time_ns, task(tgid, tid, exec_id), name)
 */
#ifndef GECKOBPF_TESTS_RECORDS_FIXTURE_H
#define GECKOBPF_TESTS_RECORDS_FIXTURE_H

#include <errno.h>

#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "recording/map_records.h"
#include "recording/records.h"
#include "target/object.h"
#include "target/process.h"

/* ---- the room around the records ------------------------------------------------------------------- */

struct world {
	struct processes *processes;
	struct objects *objects;
	struct profile_memory *memory;
	struct records *records;
};

static struct world world;

static inline void close_world(void)
{
	size_t i;

	records_close(world.records);
	for (i = 0; world.processes && i < processes_count(world.processes); i++)
		profile_buffer_close(processes_at(world.processes, i)->buffer);
	processes_close(world.processes);
	objects_close(world.objects);
	profile_memory_close(world.memory);
	world = (struct world){0};
}

static inline int open_world(bool all)
{
	int err = processes_open(&world.processes);

	if (!err)
		err = objects_open(&world.objects, 0);
	if (!err)
		err = profile_memory_open(&world.memory,
					  &(struct profile_memory_config){.max_bytes = 1 << 20,
									  .cache_bytes = 1 << 16});
	if (!err)
		err = records_open(&world.records,
				   &(struct records_config){.processes = world.processes,
							    .objects = world.objects,
							    .memory = world.memory,
							    .period_ns = 1000000,
							    .all = all});
	return err;
}

static inline int setup_world(void **state)
{
	return open_world(false);
}

static inline int teardown_world(void **state)
{
	close_world();
	return 0;
}

static inline const struct records_counts *counts(void)
{
	return records_counts(world.records);
}

/* ---- records -------------------------------------------------------------------------------------------- */

/* The first thread of image `exec_id` of a process; start times follow from the ids. */
static inline struct gb_task task(uint32_t tgid, uint32_t tid, uint32_t exec_id)
{
	return (struct gb_task){.tgid = tgid,
				.tid = tid,
				.exec_id = exec_id,
				.start_ns = 1000 + tid,
				.group_start_ns = 1000 + tgid};
}

static inline struct gb_task_event event_of(uint32_t what, uint64_t time_ns, struct gb_task named,
					    const char *comm)
{
	struct gb_task_event event = {
		.hdr = {.kind = GB_RECORD_TASK, .size = sizeof(event), .time_ns = time_ns},
		.task = named,
		.what = what};

	memcpy(event.comm, comm, strnlen(comm, sizeof(event.comm)));
	return event;
}

static inline void apply_event(const struct gb_task_event *event)
{
	records_apply(world.records, event, event->hdr.size);
}

static inline void tell(uint32_t what, uint64_t time_ns, struct gb_task named, const char *comm)
{
	const struct gb_task_event event = event_of(what, time_ns, named, comm);

	apply_event(&event);
}

static inline void tell_fork(uint64_t time_ns, struct gb_task parent, struct gb_task child,
			     const char *comm)
{
	struct gb_task_event event = event_of(GB_TASK_FORK, time_ns, child, comm);

	event.parent = parent;
	apply_event(&event);
}

static inline void tell_exit(uint64_t time_ns, struct gb_task named, uint64_t cpu_ns, uint32_t live)
{
	struct gb_task_event event = event_of(GB_TASK_EXIT, time_ns, named, "x");

	event.cpu_ns = cpu_ns;
	event.live_threads = live;
	apply_event(&event);
}

static inline void tell_map(uint16_t kind, uint64_t time_ns, uint32_t tgid, uint64_t start,
			    const char *path)
{
	union {
		struct map_record map;
		char bytes[sizeof(struct map_record) + 64];
	} record = {.map = {.hdr = {.kind = kind, .time_ns = time_ns},
			    .tgid = tgid,
			    .start = start,
			    .end = start + 0x1000,
			    .offset = 0x2000,
			    .inode = 1}};

	record.map.hdr.size = (uint32_t)(sizeof(struct map_record) + strlen(path) + 1);
	memcpy(record.map.path, path, strlen(path) + 1);
	records_apply(world.records, &record, record.map.hdr.size);
}

/* An exec, in the order in which the kernel tells it: the event that names the image comes at `time_ns` + 3. */
static inline void tell_exec(uint64_t time_ns, uint32_t tgid, uint32_t exec_id, const char *name,
			     const char *path)
{
	struct gb_task_event event =
		event_of(GB_TASK_EXEC, time_ns + 3, task(tgid, tgid, exec_id), name);

	tell(GB_TASK_RENAME, time_ns, task(tgid, tgid, exec_id - 1), name);
	tell_map(RECORD_IMAGE, time_ns + 1, tgid, 0, "");
	tell_map(RECORD_MAP, time_ns + 2, tgid, 0x1000, path);
	event.cpu_ns = 500;
	apply_event(&event);
}

struct sample_bytes {
	struct gb_sample sample;
	uint64_t pc[24];
};

/* A user frame as the kernel sends it: `words` words long on the stack. */
#define FRAME(pc, words) ((uint64_t)(pc) | (uint64_t)(words) << GB_FRAME_PC_BITS)

static inline void tell_sample_bytes(const struct sample_bytes *record)
{
	records_apply(world.records, record, record->sample.hdr.size);
}

static inline struct sample_bytes make_sample(uint64_t time_ns, struct gb_task named)
{
	return (struct sample_bytes){
		.sample = {.hdr = {.kind = GB_RECORD_SAMPLE,
				   .time_ns = time_ns,
				   .size = sizeof(struct gb_sample) + 3 * 8},
			   .task = named,
			   .cpu_ns = 77,
			   .run_ns = 5000,
			   .runs = {{GB_FRAME_KERNEL, 1}, {GB_FRAME_USER, 2}},
			   .weight = 1,
			   .user_end = GB_STACK_COMPLETE},
		.pc = {0xffffffff81000010, FRAME(0x401020, 3), FRAME(0x401010, GB_FRAME_FAR - 1)},
	};
}

/* The same with these user words, of which there are `count`. */
static inline struct sample_bytes make_user_sample(uint8_t end, const uint64_t *words, size_t count)
{
	struct sample_bytes record = make_sample(30, task(10, 10, 0));
	size_t i;

	for (i = 0; i < count; i++)
		record.pc[1 + i] = words[i];
	record.sample.user_end = end;
	record.sample.runs[1].words = (uint16_t)count;
	record.sample.hdr.size = (uint32_t)(sizeof(struct gb_sample) + (1 + count) * 8);
	return record;
}

/* A raw sample: one kernel frame, registers, three words of stack. */
static inline struct sample_bytes make_raw(uint64_t time_ns, struct gb_task named)
{
	struct sample_bytes record = make_sample(time_ns, named);
	size_t i;

	record.sample.hdr.kind = GB_RECORD_RAW;
	record.sample.hdr.size = sizeof(struct gb_sample) + (1 + GB_RAW_REGS + 3) * 8;
	record.sample.user_end = GB_STACK_RAW;
	record.sample.runs[1].words = GB_RAW_REGS + 3;
	for (i = 0; i < GB_RAW_REGS + 3; i++)
		record.pc[1 + i] = 0x1111 * i;
	return record;
}

static inline void tell_sample(uint64_t time_ns, struct gb_task named)
{
	const struct sample_bytes record = make_sample(time_ns, named);

	tell_sample_bytes(&record);
}

/* ---- what came of them ------------------------------------------------------------------------------------ */

static inline struct thread *thread_of(struct gb_task named)
{
	struct thread *thread;
	size_t before = processes_thread_count(world.processes);

	assert_int_equal(processes_thread(world.processes, &named, &thread), 0);
	assert_int_equal(processes_thread_count(world.processes), before);
	return thread;
}

static inline struct process *image_of(uint32_t tgid, uint32_t exec_id)
{
	return thread_of(task(tgid, tgid, exec_id))->process;
}

/* The path of what is mapped at `address`; "": nothing. */
static inline const char *path_at(const struct process *process, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(&process->space, address, time_ns);

	return mapping ? mapping->object->path : "";
}

static inline void assert_no_loss(void)
{
	assert_int_equal(counts()->bad_records, 0);
	assert_int_equal(counts()->no_memory, 0);
	assert_int_equal(counts()->put_failed, 0);
}

#endif
