/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive_merge.c - two recordings of one boot become one (archive.h).
 *
 *   from: thread 7 ──key──> into: thread 3, whose last sample is at t
 *   from's samples of thread 7 later than t ── decoded, encoded ──> into's buffer
 *
 * Threads are named by tid, start time and exec id, so the same one is found however each recording numbers it. A
 * recording has a thread's samples in the order of time and none is missing between two others; so what is after the
 * last one in `into` is what `into` lacks. Nodes of stacks are known within an epoch of a buffer only: samples go in as
 * frames.
 */
#include "archive/archive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/progress.h"
#include "base/shared_text.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "geckobpf_abi.h"
#include "target/object.h"
#include "target/process.h"

struct merge {
	struct archive *into, *from;
	struct object **objects; /* of `into`, by their number in `from` */
	size_t object_count;
};

/* ---- files ------------------------------------------------------------------------- */

static int merge_object(struct merge *merge, const struct object *object)
{
	const struct object_sighting sighting = {
		.device = object->device,
		.inode = object->inode,
		.path = object->path,
		.build_id = object->build_id.size ? &object->build_id : NULL,
		.is_recorded = object->is_recorded,
	};
	struct object *known;
	int err = objects_get(merge->into->objects, &sighting, &known);

	if (err)
		return err;
	known->kind = object->kind;
	if (object->code_bytes > known->code_bytes) {
		known->code_offset = object->code_offset;
		known->code_bytes = object->code_bytes;
	}
	merge->objects[object->number] = known;
	return 0;
}

static int merge_objects(struct merge *merge)
{
	const struct objects *objects = merge->from->objects;
	size_t i;
	int err = 0;

	for (i = 0; i < objects_count(objects); i++)
		if (objects_at(objects, i)->number >= merge->object_count)
			merge->object_count = objects_at(objects, i)->number + (size_t)1;
	merge->objects = calloc(merge->object_count + 1, sizeof(struct object *));
	if (!merge->objects)
		return -ENOMEM;
	for (i = 0; i < objects_count(objects) && !err; i++)
		err = merge_object(merge, objects_at(objects, i));
	return err;
}

/* ---- threads ----------------------------------------------------------------------- */

/* A thread of `from`, by its number there. */
struct merged_thread {
	struct thread *thread; /* in `into`; NULL: none has this number */
	uint32_t said; /* what its samples say in `into` */
	uint64_t after_ns; /* samples up to then are there already */
};

struct merged_process {
	struct merge *merge;
	const struct process *from;
	struct process *into; /* NULL: none of its threads was met so far */
	bool is_new;
	struct merged_thread *threads;
	size_t thread_count;
};

/* What was there when `from` began is known from then on. */
static uint64_t known_since(const struct merge *merge, uint64_t born_ns)
{
	return born_ns ? born_ns : merge->from->facts.start_ns;
}

static void fill_thread(const struct merged_process *process, struct thread *thread,
			const struct thread *from)
{
	const struct recording_facts *facts = &process->merge->from->facts;

	thread->born_ns = known_since(process->merge, from->born_ns);
	thread->cpu_first_ns = from->cpu_first_ns;
	/* What it had used when that recording began says nothing of when its samples do. */
	if (facts->is_cut && from->born_ns < facts->start_ns)
		thread->cpu_first_ns = UINT64_MAX;
}

static void update_thread(struct thread *thread, const struct thread *from)
{
	if (from->died_ns)
		thread->died_ns = from->died_ns;
	if (from->cpu_last_ns > thread->cpu_last_ns)
		thread->cpu_last_ns = from->cpu_last_ns;
	if (from->name[0])
		memcpy(thread->name, from->name, sizeof(thread->name));
	if (from->name_before[0])
		memcpy(thread->name_before, from->name_before, sizeof(thread->name_before));
}

static bool is_image(const struct merged_process *process, const struct process *image)
{
	const struct process *from = process->from;

	return image->tgid == from->tgid && image->key_ns == from->key_ns &&
	       image->exec_id == from->exec_id;
}

static int merge_thread(struct merged_process *process, const struct thread *from)
{
	struct processes *processes = process->merge->into->processes;
	const struct gb_task task = {
		.tgid = process->from->tgid,
		.tid = from->tid,
		.start_ns = from->key_ns,
		.group_start_ns = process->from->key_ns,
		.exec_id = process->from->exec_id,
	};
	size_t before = processes_thread_count(processes);
	struct thread *thread;
	int err = processes_thread(processes, &task, &thread);

	if (err)
		return err;
	if (!is_image(process, thread->process))
		return 0; /* in `into` it is another image's, which makes no sense */
	process->into = thread->process;
	if (processes_thread_count(processes) > before)
		fill_thread(process, thread, from);
	update_thread(thread, from);
	process->threads[from->number] =
		(struct merged_thread){.thread = thread, .after_ns = thread->sampled_ns};
	return threads_number_for(&thread->process->threads, thread,
				  &process->threads[from->number].said);
}

/* ---- what is known of a process ---------------------------------------------------- */

static int compare_mappings(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct mapping));
}

/* The mappings of a space, to be searched. */
static int list_sorted(struct address_space *space, struct mapping **out, size_t *count)
{
	struct mapping_list list = {0};
	int err = address_space_list(space, 0, &list);
	size_t i;

	*count = list.count;
	*out = err ? NULL : malloc((list.count + 1) * sizeof(**out));
	for (i = 0; i < list.count && *out; i++)
		(*out)[i] = list.items[i].mapping;
	if (*out)
		qsort(*out, list.count, sizeof(**out), compare_mappings);
	free(list.items);
	return *out ? 0 : -ENOMEM;
}

static int merge_mappings(const struct merged_process *process, const struct mapping_list *list,
			  const struct mapping *known, size_t known_count)
{
	size_t i;
	int err = 0;

	for (i = 0; i < list->count && !err; i++) {
		struct mapping mapping = list->items[i].mapping;

		mapping.object = process->merge->objects[mapping.object->number];
		if (bsearch(&mapping, known, known_count, sizeof(mapping), compare_mappings))
			continue;
		if (!process->is_new)
			mapping.from_ns = known_since(process->merge, mapping.from_ns);
		err = address_space_add(&process->into->space, &mapping);
	}
	return err;
}

static int merge_space(const struct merged_process *process)
{
	struct mapping_list list = {0};
	struct mapping *known;
	size_t known_count;
	int err = list_sorted(&process->into->space, &known, &known_count);

	if (!err)
		err = address_space_list(&process->from->space, 0, &list);
	if (!err)
		err = merge_mappings(process, &list, known, known_count);
	free(list.items);
	free(known);
	return err;
}

static void fill_process(const struct merged_process *process)
{
	const struct process *from = process->from;
	struct process *into = process->into;

	into->life = processes_choose_life(process->merge->into->processes, into, from->life);
	into->born_ns = known_since(process->merge, from->born_ns);
	into->is_kernel = from->is_kernel;
}

static int update_process(const struct merged_process *process)
{
	const struct process *from = process->from;
	struct process *into = process->into;

	if (from->cmdline) {
		shared_text_drop(into->cmdline);
		into->cmdline = shared_text_again(from->cmdline);
	}
	into->is_root = into->is_root || from->is_root;
	if (from->died_ns)
		into->died_ns = from->died_ns;
	if (from->name[0])
		memcpy(into->name, from->name, sizeof(into->name));
	into->is_execed = into->is_execed || from->is_execed;
	if (from->parent.tgid)
		into->parent = from->parent;
	if (from->end.is_known)
		into->end = from->end;
	return merge_space(process);
}

/* ---- samples ----------------------------------------------------------------------- */

static int forget_nodes(void *context)
{
	return 0;
}

static int skip_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	return 0;
}

/* By their numbers. */
struct numbered_threads {
	struct process *process;
	const struct threads *threads;
	struct thread **items;
	size_t count;
};

static int note_sample(void *context, const struct sample_view *sample)
{
	const struct numbered_threads *threads = context;
	uint32_t number = threads_resolve(threads->threads, sample->thread, sample->time_ns);
	struct thread *thread = number < threads->count ? threads->items[number] : NULL;

	if (thread && thread->sampled_ns < sample->time_ns)
		thread->sampled_ns = sample->time_ns;
	return 0;
}

/* Whether the process was told nothing of the counter at that time or after it; that time is its latest, then. */
static bool note_counter_time(struct process *process, const struct counter_entry *entry)
{
	struct process_counter *told;

	if (entry->counter >= PROCESS_COUNTERS)
		return false;
	told = &process->counters[entry->counter];
	if (entry->time_ns <= told->time_ns)
		return false;
	*told = (struct process_counter){entry->time_ns, entry->value};
	return true;
}

static int note_counter(void *context, const struct counter_entry *entry)
{
	const struct numbered_threads *threads = context;

	(void)note_counter_time(threads->process, entry);
	return 0;
}

/* Finds out until when there are samples of each thread, and values of each counter, once for the first recording: those that are put are noted. */
static int note_samples(struct archive *archive, struct process *process)
{
	static const struct profile_visitor visitor = {forget_nodes, skip_node, note_sample,
						       note_counter};
	struct numbered_threads threads = {.process = process,
					   .threads = &process->threads,
					   .count = process->threads.numbers.top};
	size_t i;
	int err;

	for (i = 0; i < process->threads.count; i++)
		if (process->threads.items[i]->sampled_ns)
			return 0;
	if (!process->buffer)
		return 0;
	threads.items = calloc(threads.count + 1, sizeof(struct thread *));
	if (!threads.items)
		return -ENOMEM;
	for (i = 0; i < process->threads.count; i++)
		threads.items[process->threads.items[i]->number] = process->threads.items[i];
	profile_memory_pause(archive->memory);
	err = profile_buffer_read(process->buffer, &visitor, &threads);
	profile_memory_resume(archive->memory);
	free(threads.items);
	return err;
}

struct node {
	struct frame frame;
	uint32_t prefix;
};

struct copying {
	const struct merged_process *process;
	struct {
		struct node *items;
		size_t count, capacity;
	} nodes;
	struct frame frames[SAMPLE_MAX_FRAMES];
};

static int on_restart(void *context)
{
	struct copying *copying = context;

	copying->nodes.count = 0;
	return 0;
}

static int on_node(void *context, uint32_t node, uint32_t prefix, const struct frame *frame)
{
	struct copying *copying = context;

	if (node != copying->nodes.count || (prefix != STACK_NODE_NONE && prefix >= node))
		return -EBADMSG;
	if (ARRAY_ROOM(&copying->nodes))
		return -ENOMEM;
	copying->nodes.items[copying->nodes.count++] = (struct node){*frame, prefix};
	return 0;
}

/* From the leaf back to the root. -EBADMSG: not a stack that could have been put. */
static int collect_frames(struct copying *copying, uint32_t leaf, struct sample_entry *entry)
{
	size_t at = SAMPLE_MAX_FRAMES;
	uint32_t number = leaf;

	while (number != STACK_NODE_NONE) {
		const struct node *node;

		if (number >= copying->nodes.count || !at)
			return -EBADMSG;
		node = &copying->nodes.items[number];
		copying->frames[--at] = node->frame;
		number = node->prefix;
	}
	entry->frames = copying->frames + at;
	entry->frame_count = (uint32_t)(SAMPLE_MAX_FRAMES - at);
	return 0;
}

/* What comes before the beginning of a recording that was cut may name another thread than its own. */
static bool is_in_recording(const struct recording_facts *facts, uint64_t time_ns)
{
	if (facts->is_cut && time_ns < facts->start_ns)
		return false;
	return !facts->until_ns || time_ns <= facts->until_ns;
}

static int put_sample(struct copying *copying, const struct merged_thread *thread,
		      const struct sample_view *sample)
{
	struct sample_entry entry = {
		.thread = thread->said,
		.user_end = sample->user_end,
		.time_ns = sample->time_ns,
		.cpu_ns = sample->cpu_ns,
		.run_ns = sample->run_ns,
		.slept_ns = sample->slept_ns,
		.event = sample->event,
		.weight = sample->weight,
		.stack_base = sample->stack_base,
		.far_sp = sample->far_sp,
	};
	int err = collect_frames(copying, sample->stack, &entry);

	if (!err)
		err = profile_buffer_put_sample(copying->process->into->buffer, &entry);
	if (!err)
		thread->thread->sampled_ns = sample->time_ns;
	return err;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct copying *copying = context;
	const struct merged_process *process = copying->process;
	const struct merged_thread *thread = NULL;
	uint32_t number;
	int err;

	if (!is_in_recording(&process->merge->from->facts, sample->time_ns))
		return 0;
	number = threads_resolve(&process->from->threads, sample->thread, sample->time_ns);
	if (number < process->thread_count)
		thread = &process->threads[number];
	if (!thread || !thread->thread || sample->time_ns > INT64_MAX)
		return -EBADMSG;
	if (sample->time_ns <= thread->after_ns)
		return 0;
	err = put_sample(copying, thread, sample);
	return err == -E2BIG ? -EBADMSG : err;
}

/* Those that another recording of the process has as well are told once. */
static int on_counter(void *context, const struct counter_entry *entry)
{
	struct copying *copying = context;
	const struct merged_process *process = copying->process;

	if (!is_in_recording(&process->merge->from->facts, entry->time_ns) ||
	    entry->time_ns > INT64_MAX || !note_counter_time(process->into, entry))
		return 0;
	return profile_buffer_put_counter(process->into->buffer, entry);
}

static int merge_samples(const struct merged_process *process)
{
	static const struct profile_visitor visitor = {on_restart, on_node, on_sample, on_counter};
	struct archive *into = process->merge->into;
	struct copying *copying;
	int err = archive_need_buffer(into, process->into);

	if (err)
		return err;
	copying = calloc(1, sizeof(*copying));
	if (!copying)
		return -ENOMEM;
	copying->process = process;
	err = profile_buffer_read(process->from->buffer, &visitor, copying);
	free(copying->nodes.items);
	free(copying);
	into->lost_blocks += profile_buffer_get_state(process->from->buffer).damaged;
	return err;
}

/* ---- processes --------------------------------------------------------------------- */

static int merge_contents(struct merged_process *process)
{
	const struct threads *threads = &process->from->threads;
	size_t i;
	int err = 0;

	if (process->into)
		err = note_samples(process->merge->into, process->into);
	for (i = 0; i < threads->count && !err; i++)
		err = merge_thread(process, threads->items[i]);
	if (err || !process->into)
		return err;
	if (process->is_new)
		fill_process(process);
	err = update_process(process);
	return err || !process->from->buffer ? err : merge_samples(process);
}

static int merge_process(struct merge *merge, const struct process *from)
{
	struct merged_process process = {
		.merge = merge,
		.from = from,
		.into = processes_find(merge->into->processes, from->tgid, from->key_ns,
				       from->exec_id),
		.thread_count = from->threads.numbers.top,
	};
	int err;

	process.is_new = !process.into;
	process.threads = calloc(process.thread_count + 1, sizeof(*process.threads));
	if (!process.threads)
		return -ENOMEM;
	err = merge_contents(&process);
	free(process.threads);
	return err;
}

/* The later one has the modules that were loaded since. */
static void take_kernel(struct archive *into, struct archive *from)
{
	int older = into->kallsyms_fd;

	if (from->kallsyms_fd < 0)
		return;
	into->kallsyms_fd = from->kallsyms_fd;
	from->kallsyms_fd = older; /* to be closed */
}

int archive_merge(struct archive *into, struct archive *from, struct progress *progress)
{
	struct merge merge = {.into = into, .from = from};
	size_t count = processes_count(from->processes), i;
	struct progress part;
	int err = merge_objects(&merge);

	progress_split(&part, progress, 1, "merging", count + 1);
	profile_memory_pause(from->memory);
	for (i = 0; i < count && !err; i++) {
		err = merge_process(&merge, processes_at(from->processes, i));
		progress_add(&part, 1);
	}
	profile_memory_resume(from->memory);
	progress_end(&part);
	if (!err)
		take_kernel(into, from);
	free(merge.objects);
	return err;
}
