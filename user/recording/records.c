/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.c - see records.h.
 *
 * A new kind of record is a handler and a row in `handlers`. A new kind of task event is a row in `task_handlers`.
 *
 * exec, as the kernel tells it:   RECORD_IMAGE  RECORD_MAP...  GB_TASK_EXEC
 * The mappings come before the event that names the image (it carries the new exec_id), so they are collected in an
 * `incoming` address space, which the image then takes over.
 */
#include "recording/records.h"

#include "base/array.h"
#include "buffer/profile_buffer.h"
#include "recording/sample_frames.h"
#include "target/object.h"
#include "target/process.h"
#include "target/procfs.h"

#include <errno.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

/* The mappings of an image whose exec event has not come yet. */
struct incoming {
	uint32_t tgid;
	bool out_of_memory;
	uint64_t since_ns;
	struct address_space space;
	UT_hash_handle hh;
};

struct tgids {
	uint32_t *items;
	size_t count, capacity;
};

struct records {
	struct records_config config;
	struct records_listener listener;
	struct records_counts counts;
	struct incoming *incoming;
	struct tgids expected;
	struct process *ending; /* images that ended and may hold a chunk */
	uint32_t roll_call; /* number of the last one */
	/* of the sample at hand, root first */
	struct frame frames[SAMPLE_FRAMES_MAX];
	union { /* of the raw sample at hand */
		struct gb_sample sample;
		uint64_t words[sizeof(struct gb_sample) / 8 + GB_MAX_KERNEL_FRAMES +
			       GB_MAX_USER_WORDS];
	} unwound;
};

int records_open(struct records **out, const struct records_config *config)
{
	struct records *records = calloc(1, sizeof(*records));

	if (!records)
		return -ENOMEM;
	records->config = *config;
	*out = records;
	return 0;
}

static void drop_incoming(struct records *records, struct incoming *incoming)
{
	HASH_DEL(records->incoming, incoming);
	address_space_clear(&incoming->space);
	free(incoming);
}

void records_close(struct records *records)
{
	struct incoming *incoming, *next;

	if (!records)
		return;
	HASH_ITER (hh, records->incoming, incoming, next)
		drop_incoming(records, incoming);
	free(records->expected.items);
	free(records);
}

const struct records_counts *records_counts(const struct records *records)
{
	return &records->counts;
}

int records_expect(struct records *records, uint32_t tgid)
{
	if (ARRAY_ROOM(&records->expected))
		return -ENOMEM;
	records->expected.items[records->expected.count++] = tgid;
	return 0;
}

void records_listen(struct records *records, const struct records_listener *listener)
{
	records->listener = *listener;
}

static void tell_changed(struct records *records, struct process *process)
{
	process->is_news = true;
	if (records->listener.changed)
		records->listener.changed(records->listener.context, process);
}

static bool is_expected(const struct records *records, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < records->expected.count; i++)
		if (records->expected.items[i] == tgid)
			return true;
	return false;
}

static void check(struct records *records, int err)
{
	if (err)
		records->counts.no_memory++;
}

/* ---- lives ------------------------------------------------------------------ */

static void mark_alive(struct records *records, struct process *process)
{
	if (process->is_counted || process->died_ns)
		return;
	process->is_counted = true;
	process->is_root = is_expected(records, process->tgid);
	process->is_news = true;
	records->counts.live_processes++;
}

/* Its last samples may still come. */
static void note_ended(struct records *records, struct process *process)
{
	if (!process->buffer || process->is_ending)
		return;
	process->is_ending = true;
	process->next_ending = records->ending;
	records->ending = process;
}

void records_finish_ended(struct records *records)
{
	struct process *process;

	while ((process = records->ending) != NULL) {
		records->ending = process->next_ending;
		process->is_ending = false;
		profile_buffer_finish(process->buffer);
	}
}

static void mark_dead(struct records *records, struct process *process, uint64_t time_ns)
{
	if (process->died_ns)
		return;
	process->died_ns = time_ns ? time_ns : 1; /* 0: it lives */
	if (process->is_counted)
		records->counts.live_processes--;
	note_ended(records, process);
	tell_changed(records, process);
}

static void set_name(char name[THREAD_NAME_BYTES], const char comm[GB_COMM_BYTES])
{
	_Static_assert(THREAD_NAME_BYTES == GB_COMM_BYTES, "both hold a comm");
	memcpy(name, comm, THREAD_NAME_BYTES);
	name[THREAD_NAME_BYTES - 1] = '\0';
}

static void name_thread(struct thread *thread, const char comm[GB_COMM_BYTES])
{
	set_name(thread->name, comm);
	if (thread->tid == thread->process->tgid || !thread->process->name[0])
		set_name(thread->process->name, comm);
}

static void note_cpu(struct thread *thread, uint64_t cpu_ns)
{
	if (thread->cpu_first_ns == UINT64_MAX)
		thread->cpu_first_ns = cpu_ns;
	if (cpu_ns > thread->cpu_last_ns)
		thread->cpu_last_ns = cpu_ns;
}

/* ---- task events -------------------------------------------------------------- */

static void on_seen(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;
	bool is_new = !process->space.count && !process->cmdline && !process->died_ns;

	thread->roll_call = records->roll_call;
	note_cpu(thread, event->cpu_ns);
	if (!is_new || !records->config.use_proc || process->is_kernel)
		return;
	process->cmdline = procfs_cmdline((pid_t)process->tgid);
	/* It may be gone already; its samples, if any, then show what the map records told. */
	(void)procfs_mappings((pid_t)process->tgid, records->config.objects, &process->space);
	tell_changed(records, process);
}

static void on_fork(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;
	struct thread *parent;

	thread->born_ns = event->hdr.time_ns;
	thread->cpu_first_ns = 0;
	if (thread->tid != process->tgid)
		return;
	process->born_ns = event->hdr.time_ns;
	if (processes_thread(records->config.processes, &event->parent, &parent)) {
		records->counts.no_memory++;
		return;
	}
	check(records,
	      address_space_inherit(&process->space, &parent->process->space, event->hdr.time_ns));
	if (!process->cmdline && parent->process->cmdline)
		process->cmdline = strdup(parent->process->cmdline);
	tell_changed(records, process);
}

/*
 * The image that exec replaced, and with it all its threads, end now. exec names the thread anew before it replaces the
 * image, so the last rename was not the old image's.
 */
static void end_image(struct records *records, struct process *process,
		      const struct gb_task_event *event)
{
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		struct thread *thread = process->threads.items[i];

		thread_note_news(thread);
		if (!thread->died_ns)
			thread->died_ns = event->hdr.time_ns;
		if (thread->tid != event->task.tid)
			continue;
		if (event->cpu_ns > thread->cpu_last_ns)
			thread->cpu_last_ns = event->cpu_ns;
		if (thread->name_before[0])
			name_thread(thread, thread->name_before);
	}
	mark_dead(records, process, event->hdr.time_ns);
}

static struct incoming *find_incoming(const struct records *records, uint32_t tgid)
{
	struct incoming *incoming;

	HASH_FIND(hh, records->incoming, &tgid, sizeof(tgid), incoming);
	return incoming;
}

static void on_exec(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;
	struct incoming *incoming = find_incoming(records, process->tgid);

	thread->born_ns = event->hdr.time_ns;
	thread->cpu_first_ns = event->cpu_ns;
	process->born_ns = event->hdr.time_ns;
	if (process->previous && process->previous->key_ns == process->key_ns)
		end_image(records, process->previous, event);
	if (records->config.use_proc && !process->cmdline)
		process->cmdline = procfs_cmdline((pid_t)process->tgid);
	if (incoming) {
		address_space_clear(&process->space);
		process->space = incoming->space;
		incoming->space = (struct address_space){0};
		drop_incoming(records, incoming);
	} else if (records->config.use_proc) {
		(void)procfs_mappings((pid_t)process->tgid, records->config.objects,
				      &process->space);
	}
	tell_changed(records, process);
}

static void on_exit_event(struct records *records, struct thread *thread,
			  const struct gb_task_event *event)
{
	struct incoming *incoming = find_incoming(records, thread->process->tgid);

	thread->died_ns = event->hdr.time_ns;
	note_cpu(thread, event->cpu_ns);
	if (event->live_threads)
		return;
	mark_dead(records, thread->process, event->hdr.time_ns);
	if (incoming)
		drop_incoming(records, incoming);
}

typedef void (*task_handler)(struct records *records, struct thread *thread,
			     const struct gb_task_event *event);

/* What each event does besides naming the thread. */
static const task_handler task_handlers[] = {
	[GB_TASK_SEEN] = on_seen, [GB_TASK_FORK] = on_fork,       [GB_TASK_EXEC] = on_exec,
	[GB_TASK_RENAME] = NULL,  [GB_TASK_EXIT] = on_exit_event,
};

static void apply_task(struct records *records, const void *record, size_t size)
{
	const struct gb_task_event *event = record;
	struct thread *thread;

	if (event->what < GB_TASK_SEEN || event->what > GB_TASK_EXIT) {
		records->counts.bad_records++;
		return;
	}
	if (processes_thread(records->config.processes, &event->task, &thread)) {
		records->counts.no_memory++;
		return;
	}
	mark_alive(records, thread->process);
	thread_note_news(thread);
	thread->process->is_kernel = event->is_kernel;
	if (event->what == GB_TASK_RENAME)
		memcpy(thread->name_before, thread->name, sizeof(thread->name_before));
	name_thread(thread, event->comm);
	if (task_handlers[event->what])
		task_handlers[event->what](records, thread, event);
}

/* ---- mappings ------------------------------------------------------------------ */

static bool is_wanted(const struct records *records, uint32_t tgid)
{
	return records->config.all || processes_latest(records->config.processes, tgid) ||
	       is_expected(records, tgid);
}

static void apply_image(struct records *records, const void *record, size_t size)
{
	const struct map_record *map = record;
	struct incoming *incoming = find_incoming(records, map->tgid);

	if (incoming) {
		address_space_clear(&incoming->space);
		incoming->since_ns = map->hdr.time_ns;
		return;
	}
	if (!is_wanted(records, map->tgid))
		return;
	incoming = calloc(1, sizeof(*incoming));
	if (!incoming) {
		records->counts.no_memory++;
		return;
	}
	incoming->tgid = map->tgid;
	incoming->since_ns = map->hdr.time_ns;
	HASH_ADD(hh, records->incoming, tgid, sizeof(incoming->tgid), incoming);
	if (incoming->out_of_memory) {
		free(incoming);
		records->counts.no_memory++;
	}
}

static int add_mapping(struct records *records, const struct map_record *map,
		       struct address_space *space)
{
	struct mapping mapping = {.start = map->start,
				  .end = map->end,
				  .offset = map->offset,
				  .from_ns = map->hdr.time_ns};
	const struct object_sighting sighting = {
		.pid = (pid_t)map->tgid,
		.start = map->start,
		.end = map->end,
		.device = map->device,
		.inode = map->inode,
		.path = map->path,
		.build_id = map->build_id.size ? &map->build_id : NULL,
	};
	int err;

	err = objects_get(records->config.objects, &sighting, &mapping.object);
	return err ? err : address_space_add(space, &mapping);
}

static void apply_map(struct records *records, const void *record, size_t size)
{
	const struct map_record *map = record;
	struct incoming *incoming = find_incoming(records, map->tgid);
	struct process *process = processes_latest(records->config.processes, map->tgid);

	if (map->path[size - sizeof(*map) - 1] || map->start >= map->end ||
	    map->build_id.size > BUILD_ID_MAX_BYTES) {
		records->counts.bad_records++;
		return;
	}
	if (incoming) {
		check(records, add_mapping(records, map, &incoming->space));
	} else if (process) {
		check(records, add_mapping(records, map, &process->space));
		tell_changed(records, process);
	}
}

/* ---- samples -------------------------------------------------------------------- */

static bool is_consistent(const struct gb_sample *sample, size_t size, size_t max_user_words)
{
	const size_t max_words[GB_FRAME_KIND_COUNT] = {
		[GB_FRAME_USER] = max_user_words,
		[GB_FRAME_KERNEL] = GB_MAX_KERNEL_FRAMES,
	};
	size_t words[GB_FRAME_KIND_COUNT] = {0}, i;

	for (i = 0; i < GB_SAMPLE_RUNS; i++) {
		const struct gb_frame_run *run = &sample->runs[i];

		if (run->kind >= GB_FRAME_KIND_COUNT)
			return false;
		words[run->kind] += run->words;
		if (words[run->kind] > max_words[run->kind])
			return false;
	}
	return sample->user_end < GB_STACK_END_COUNT && size == sample_bytes(sample);
}

static int open_buffer(const struct records *records, struct process *process)
{
	const struct profile_buffer_config config = {
		.memory = records->config.memory,
		.process_id = process->tgid,
		.period_ns = records->config.period_ns,
	};

	return profile_buffer_open(&process->buffer, &config);
}

static void apply_sample(struct records *records, const void *record, size_t size)
{
	const struct gb_sample *sample = record;
	struct sample_entry entry;
	struct process *process;
	struct thread *thread;

	if (!is_consistent(sample, size, GB_MAX_USER_WORDS)) {
		records->counts.bad_records++;
		return;
	}
	if (processes_thread(records->config.processes, &sample->task, &thread)) {
		records->counts.no_memory++;
		return;
	}
	process = thread->process;
	mark_alive(records, process);
	if (!process->buffer && open_buffer(records, process)) {
		records->counts.no_memory++;
		return;
	}
	entry = (struct sample_entry){
		.thread = thread->number,
		.user_end = sample->user_end,
		.time_ns = sample->hdr.time_ns,
		.cpu_ns = sample->cpu_ns,
		.run_ns = sample->run_ns,
		.event = sample->event,
		.weight = sample->weight,
	};
	sample_frames_turn(sample, records->frames, &entry);
	if (profile_buffer_put_sample(process->buffer, &entry)) {
		records->counts.put_failed++;
	} else {
		if (entry.time_ns > thread->sampled_ns)
			thread->sampled_ns = entry.time_ns;
		records->counts.samples++;
	}
	if (process->died_ns)
		note_ended(records, process);
}

/* Registers and stack memory: the frames are found here, with what is known of the process by now. */
static void apply_raw(struct records *records, const void *record, size_t size)
{
	const struct gb_sample *raw = record;
	struct gb_sample *sample = &records->unwound.sample;
	struct thread *thread;

	if (!is_consistent(raw, size, GB_RAW_REGS + GB_RAW_STACK_WORDS)) {
		records->counts.bad_records++;
		return;
	}
	if (processes_thread(records->config.processes, &raw->task, &thread)) {
		records->counts.no_memory++;
		return;
	}
	if (records->listener.unwind) {
		records->listener.unwind(records->listener.context, thread->process, raw, sample);
	} else {
		sample_without_user(raw, sample);
	}
	apply_sample(records, sample, sample->hdr.size);
}

/* ---- any record ------------------------------------------------------------------- */

static const struct {
	size_t min_bytes;
	void (*apply)(struct records *records, const void *record, size_t size);
} handlers[] = {
	[GB_RECORD_SAMPLE] = {sizeof(struct gb_sample), apply_sample},
	[GB_RECORD_TASK] = {sizeof(struct gb_task_event), apply_task},
	[GB_RECORD_RAW] = {sizeof(struct gb_sample), apply_raw},
	[RECORD_MAP] = {sizeof(struct map_record) + 1, apply_map},
	[RECORD_IMAGE] = {sizeof(struct map_record), apply_image},
};

void records_apply(struct records *records, const void *record, size_t size)
{
	const struct gb_record *header = record;

	if (size < sizeof(*header) || header->size != size ||
	    header->kind >= sizeof(handlers) / sizeof(handlers[0]) ||
	    !handlers[header->kind].apply || size < handlers[header->kind].min_bytes) {
		records->counts.bad_records++;
		return;
	}
	handlers[header->kind].apply(records, record, size);
}

/* ---- roll call ----------------------------------------------------------------------- */

void records_call_roll(struct records *records)
{
	records->roll_call++;
}

static void end_roll_of(struct records *records, struct process *process, uint64_t time_ns)
{
	bool is_there = false;
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		struct thread *thread = process->threads.items[i];

		thread_note_news(thread);
		if (thread->roll_call == records->roll_call)
			is_there = true;
		else if (!thread->died_ns)
			thread->died_ns = time_ns;
	}
	if (!is_there)
		mark_dead(records, process, time_ns);
}

void records_end_roll(struct records *records, uint64_t time_ns)
{
	size_t i;

	for (i = 0; i < processes_count(records->config.processes); i++) {
		struct process *process = processes_at(records->config.processes, i);

		if (!process->died_ns)
			end_roll_of(records, process, time_ns);
	}
}

/* ---- forgetting --------------------------------------------------------------------- */

void records_expire(struct records *records, const struct expire_horizon *horizon)
{
	const struct expire_tables tables = {
		.processes = records->config.processes,
		.objects = records->config.objects,
		.keeper = records->listener.keeper,
	};
	struct incoming *incoming, *next;

	records_finish_ended(records); /* whoever goes is in no list */
	HASH_ITER (hh, records->incoming, incoming, next) {
		/* Its exec event was lost, or it was a stranger with a pid that had been a target's. */
		if (incoming->since_ns < horizon->settled_ns)
			drop_incoming(records, incoming);
		else
			expire_mark(&incoming->space);
	}
	expire_run(&tables, horizon, &records->counts.expired);
}

size_t records_side_bytes(const struct records *records)
{
	const struct incoming *incoming;
	size_t bytes =
		processes_bytes(records->config.processes) + objects_bytes(records->config.objects);

	for (incoming = records->incoming; incoming; incoming = incoming->hh.next)
		bytes += sizeof(*incoming) + address_space_bytes(&incoming->space);
	return bytes;
}
