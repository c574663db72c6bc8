/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.c - see publish.h.
 *
 * A run of mappings is never changed while a process points at it: the new set goes into another run (mapping_runs.h).
 */
#include "capture/publish.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/file_tables.h"
#include "capture/kernel_side.h"
#include "capture/mapping_runs.h"
#include "capture/mapping_set.h"
#include "recording/sample_frames.h"
#include "target/object.h"
#include "target/process.h"
#include "unwind/raw_sample.h"
#include "unwind/table_store.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "geckobpf_abi.h"

#define GRACE_NS NS_PER_SEC

/* What one process has in the kernel; by process number. */
struct published {
	struct process *process; /* NULL: it was never noted */
	struct mapping_set set;
	uint64_t applied; /* of the mappings that were added to the address space are in `set` */
	struct mapping_run run;
	bool has_run, is_noted, is_over;
	bool is_forgotten; /* it is over, and its set is gone */
	uint64_t over_ns;
};

struct publisher {
	struct kernel_side *kernel;
	struct kernel_tables maps;
	struct file_tables *files;
	uint64_t no_room; /* processes that found the maps full */
	struct {
		struct published *items;
		size_t count, capacity;
	} processes;
	struct {
		struct process **items;
		size_t count, capacity;
	} noted;
	struct {
		uint32_t *items; /* process numbers */
		size_t count, capacity;
		/* the mappings of those that ended are kept for a moment: raw samples may be on their way */
	} over;
	struct {
		struct gb_mapping *items;
		size_t capacity;
	} plain; /* for publisher_unwind() */
	struct mapping_runs runs;
	uint32_t generation; /* of the set of mappings published last */
};

/* ---- open, close ------------------------------------------------------------------ */

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	struct publisher *publisher = context;

	return kernel_side_add_pool(publisher->kernel, index, chunks);
}

int publisher_open(struct publisher **out, struct kernel_side *kernel, uint64_t max_bytes)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));
	struct unwind_memory memory = {.add_pool = add_pool, .context = publisher};
	int err;

	if (!publisher)
		return -ENOMEM;
	publisher->kernel = kernel;
	err = kernel_side_map_tables(kernel, &publisher->maps);
	if (!err) {
		memory.pages = publisher->maps.pages;
		memory.rules = publisher->maps.rules;
		memory.max_pools =
			(uint32_t)(max_bytes / (GB_POOL_CHUNKS * sizeof(struct gb_chunk)));
		err = file_tables_open(&publisher->files, &memory);
	}
	if (err) {
		publisher_close(publisher);
		return err;
	}
	*out = publisher;
	return 0;
}

void publisher_close(struct publisher *publisher)
{
	size_t i;

	if (!publisher)
		return;
	for (i = 0; i < publisher->processes.count; i++)
		mapping_set_clear(&publisher->processes.items[i].set);
	mapping_runs_close(&publisher->runs);
	free(publisher->processes.items);
	free(publisher->noted.items);
	free(publisher->over.items);
	free(publisher->plain.items);
	file_tables_close(publisher->files);
	free(publisher);
}

struct publisher_stats publisher_get_stats(const struct publisher *publisher)
{
	return (struct publisher_stats){
		.files = file_tables_get_stats(publisher->files),
		.processes_no_room = publisher->no_room,
	};
}

/* ---- tables of files ---------------------------------------------------------------- */

static int published_of(struct publisher *publisher, const struct process *process,
			struct published **out)
{
	size_t need = (size_t)process->number + 1;
	int err;

	err = array_reserve((void **)&publisher->processes.items, &publisher->processes.capacity,
			    need, sizeof(*publisher->processes.items));
	if (err)
		return err;
	while (publisher->processes.count < need)
		publisher->processes.items[publisher->processes.count++] = (struct published){0};
	*out = &publisher->processes.items[process->number];
	return 0;
}

/* The files that `process` has mapped since the last time. */
static int want_files(struct publisher *publisher, const struct process *process)
{
	struct mapping_list list = {0};
	struct published *published;
	size_t i;
	int err;

	err = published_of(publisher, process, &published);
	if (!err)
		err = address_space_list(&process->space, published->applied, &list);
	for (i = 0; i < list.count && !err; i++)
		err = file_tables_want(publisher->files, list.items[i].mapping.object);
	free(list.items);
	return err;
}

/* Compiles and stores the tables of all new files. */
static int load_tables(struct publisher *publisher, bool *changed)
{
	int err, first = 0;
	size_t i;

	for (i = 0; i < publisher->noted.count; i++) {
		err = want_files(publisher, publisher->noted.items[i]);
		first = first ? first : err;
	}
	err = file_tables_load(publisher->files, clock_now_ns(), changed);
	return first ? first : err;
}

/* ---- the mappings of a process ---------------------------------------------------------- */

static void use_file(void *context, uint32_t object, int change)
{
	struct publisher *publisher = context;

	file_tables_use(publisher->files, object, change, clock_now_ns());
}

/* ---- publishing --------------------------------------------------------------------------- */

static void give_run(struct publisher *publisher, struct published *published)
{
	if (published->has_run)
		mapping_runs_give(&publisher->runs, &published->run, clock_now_ns());
	published->has_run = false;
}

static void forget(struct publisher *publisher, struct published *published)
{
	size_t i;

	for (i = 0; i < published->set.count; i++)
		use_file(publisher, published->set.items[i].object, -1);
	mapping_set_clear(&published->set);
	published->is_forgotten = true;
}

static void forget_those_over(struct publisher *publisher)
{
	uint64_t now = clock_now_ns();
	size_t i;

	for (i = 0; i < publisher->over.count; i++) {
		struct published *published = &publisher->processes.items[publisher->over.items[i]];

		if (now - published->over_ns < GRACE_NS)
			break;
		forget(publisher, published);
	}
	publisher->over.count -= i;
	if (i)
		memmove(publisher->over.items, publisher->over.items + i,
			publisher->over.count * sizeof(*publisher->over.items));
}

/* The process has ended; the kernel needs it no more. */
static void retire(struct publisher *publisher, const struct process *process,
		   struct published *published)
{
	if (published->is_over)
		return;
	published->is_over = true;
	published->over_ns = clock_now_ns();
	/* The entry may be the next image's by now, or a reused pid's; then it has another exec_id or run. */
	if (published->has_run)
		kernel_side_drop_process(publisher->kernel, process->tgid, published->run.first);
	give_run(publisher, published);
	if (ARRAY_ROOM(&publisher->over))
		forget(publisher, published);
	else
		publisher->over.items[publisher->over.count++] = process->number;
}

static void publish_run(struct publisher *publisher, const struct process *process,
			struct published *published)
{
	struct gb_process_map value = {.count = (uint32_t)published->set.count,
				       .exec_id = process->exec_id};
	struct mapping_run run;
	size_t i;
	int err;

	err = mapping_runs_take(&publisher->runs, published->set.count, clock_now_ns(), &run);
	if (err) {
		publisher->no_room++;
		return;
	}
	for (i = 0; i < published->set.count; i++)
		publisher->maps.mappings[run.first + i] = published->set.items[i].mapping;
	value.first = run.first;
	if (!++publisher->generation)
		publisher->generation = 1; /* 0: no set of mappings has it */
	value.generation = publisher->generation;
	err = kernel_side_set_process(publisher->kernel, process->tgid, &value);
	give_run(publisher, published);
	published->run = run;
	published->has_run = true;
	if (err)
		publisher->no_room++;
}

static int resolve(struct publisher *publisher, const struct mapping *mapping,
		   struct live_mapping *out)
{
	*out = (struct live_mapping){.object = mapping->object->number};
	out->mapping.begin = mapping->start;
	out->mapping.end = mapping->end;
	out->has_code =
		file_tables_resolve(publisher->files, out->object, mapping->offset, &out->mapping);
	return file_tables_want(publisher->files, mapping->object);
}

/* Adds what the process has mapped since the last time to its set. */
static int lay_out(struct publisher *publisher, const struct process *process,
		   struct published *published)
{
	const struct mapping_counter counter = {.count = use_file, .context = publisher};
	struct mapping_list list = {0};
	struct live_mapping item;
	size_t i;
	int err;

	err = address_space_list(&process->space, published->applied, &list);
	for (i = 0; i < list.count && !err; i++) {
		/* The vsyscall page is the kernel's, and the search compares as signed numbers. */
		if (list.items[i].mapping.end > INT64_MAX)
			continue;
		err = resolve(publisher, &list.items[i].mapping, &item);
		if (!err)
			err = mapping_set_overlay(&published->set, &item, &counter);
		if (!err)
			published->applied = list.items[i].sequence;
	}
	free(list.items);
	return err;
}

static int publish(struct publisher *publisher, struct process *process)
{
	struct published *published;
	int err;

	err = published_of(publisher, process, &published);
	if (err)
		return err;
	published->is_noted = false;
	err = published->is_over ? 0 : lay_out(publisher, process, published);
	if (process->died_ns) {
		retire(publisher, process, published);
		return err;
	}
	if (!err)
		publish_run(publisher, process, published);
	return err;
}

/* The mappings alone, as the unwinder wants them. */
static const struct gb_mapping *plain_mappings(struct publisher *publisher,
					       const struct published *published)
{
	size_t i;

	if (array_reserve((void **)&publisher->plain.items, &publisher->plain.capacity,
			  published->set.count + 1, sizeof(*publisher->plain.items)))
		return NULL;
	for (i = 0; i < published->set.count; i++)
		publisher->plain.items[i] = published->set.items[i].mapping;
	return publisher->plain.items;
}

void publisher_unwind(struct publisher *publisher, const struct process *process,
		      const struct gb_sample *raw, struct gb_sample *out)
{
	const struct sample_part user = sample_user_part(raw);
	const uint64_t *words = (const uint64_t *)raw->pc + user.at;
	struct raw_sample sample = {.regs = words};
	struct published *published;

	sample_without_user(raw, out);
	if (user.words >= GB_RAW_REGS && !published_of(publisher, process, &published)) {
		sample.words = words + GB_RAW_REGS;
		sample.word_count = user.words - GB_RAW_REGS;
		sample.mappings = plain_mappings(publisher, published);
		sample.mapping_count = sample.mappings ? published->set.count : 0;
		out->runs[user.run].words =
			(__u16)raw_sample_unwind(file_tables_store(publisher->files), &sample,
						 (uint64_t *)out->pc + user.at, &out->user_end);
	}
	out->hdr.size = (__u32)sample_bytes(out);
}

int publisher_note(struct publisher *publisher, struct process *process)
{
	struct published *published;
	int err;

	err = published_of(publisher, process, &published);
	if (err || published->is_noted || published->is_over)
		return err;
	err = ARRAY_ROOM(&publisher->noted);
	if (err)
		return err;
	published->process = process;
	published->is_noted = true;
	publisher->noted.items[publisher->noted.count++] = process;
	return 0;
}

/* Files have got tables after they were mapped: the processes that map them are published again. */
static void refresh(struct publisher *publisher)
{
	size_t i, j;

	for (i = 0; i < publisher->processes.count; i++) {
		struct published *published = &publisher->processes.items[i];
		bool changed = false;

		for (j = 0; j < published->set.count && !published->is_over; j++) {
			struct live_mapping *item = &published->set.items[j];

			if (item->has_code)
				changed |= file_tables_refresh(publisher->files, item->object,
							       &item->mapping);
		}
		if (changed)
			publish_run(publisher, published->process, published);
	}
}

int publisher_flush(struct publisher *publisher)
{
	bool changed;
	int err, first;
	size_t i;

	forget_those_over(publisher);
	first = load_tables(publisher, &changed);
	if (changed)
		refresh(publisher);
	for (i = 0; i < publisher->noted.count; i++) {
		err = publish(publisher, publisher->noted.items[i]);
		if (err && !first)
			first = err;
	}
	publisher->noted.count = 0;
	return first;
}

/* ---- forgetting --------------------------------------------------------------------------- */

bool publisher_forget_process(struct publisher *publisher, struct process *process)
{
	struct published *published;

	if (process->number >= publisher->processes.count)
		return true;
	published = &publisher->processes.items[process->number];
	if (!published->is_over) {
		(void)publisher_note(publisher, process); /* the next flush retires it */
		return false;
	}
	if (!published->is_forgotten || published->is_noted)
		return false; /* raw samples of its last moment may be on their way */
	*published = (struct published){0};
	return true;
}

bool publisher_forget_object(struct publisher *publisher, const struct object *object)
{
	return file_tables_forget(publisher->files, object->number, clock_now_ns());
}

size_t publisher_bytes(const struct publisher *publisher)
{
	size_t bytes = publisher->processes.capacity * sizeof(struct published), i;

	for (i = 0; i < publisher->processes.count; i++)
		bytes += publisher->processes.items[i].set.capacity * sizeof(struct live_mapping);
	return bytes + file_tables_bytes(publisher->files);
}
