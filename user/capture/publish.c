/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.c - see publish.h.
 *
 * A run of mappings is never changed while a process points at it: the new set goes into another run (mapping_runs.h).
 */
#include "capture/publish.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/kernel_side.h"
#include "capture/mapping_runs.h"
#include "capture/mapping_set.h"
#include "target/object.h"
#include "target/process.h"
#include "unwind/compile_pool.h"
#include "unwind/raw.h"
#include "unwind/store.h"
#include "unwind/table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "geckobpf_abi.h"

#define GRACE_NS NS_PER_SEC
#define FIRST_POOLS 2 /* 8 MiB: more than the libraries of most programs need */

/* What is known of the unwind information of an object. */
struct file_table {
	bool is_tried;
	struct stored_table *stored; /* NULL: there is none, or it was evicted */
	uint64_t bytes;
	uint32_t flags; /* enum gb_mapping_flag */
	uint32_t users; /* published mappings that point at it */
	uint64_t unused_since_ns;
	struct unwind_segment *segments; /* where file offsets are in virtual addresses */
	uint32_t segment_count;
};

/* What one process has in the kernel; by process number. */
struct published {
	struct mapping_set set;
	size_t applied; /* of the address space's mappings are in `set` */
	struct mapping_run run;
	bool has_run, is_noted, is_over;
	uint64_t over_ns;
};

struct publisher {
	struct kernel_side *kernel;
	struct objects *objects;
	struct kernel_tables maps;
	struct unwind_store *store;
	uint64_t max_pools;
	struct publisher_stats stats;
	struct {
		struct file_table *items;
		size_t count, capacity;
	} files;
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
		/* their mappings are kept for a moment: raw samples of theirs may be on their way */
	} over;
	struct {
		struct gb_mapping *items;
		size_t capacity;
	} plain; /* for publisher_unwind() */
	struct {
		struct compile_job *items;
		size_t count, capacity;
	} jobs; /* of the flush at hand */
	struct mapping_runs runs;
	uint32_t generation; /* of the set of mappings published last */
};

/* ---- open, close ------------------------------------------------------------------ */

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	struct publisher *publisher = context;

	if (index >= publisher->max_pools)
		return -ENOSPC;
	return kernel_side_add_pool(publisher->kernel, index, chunks);
}

int publisher_open(struct publisher **out, struct kernel_side *kernel, struct objects *objects,
		   uint64_t max_bytes)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));
	struct unwind_memory memory = {.add_pool = add_pool, .context = publisher};
	int err;

	if (!publisher)
		return -ENOMEM;
	publisher->kernel = kernel;
	publisher->objects = objects;
	publisher->max_pools = max_bytes / (GB_POOL_CHUNKS * sizeof(struct gb_chunk));
	err = kernel_side_map_tables(kernel, &publisher->maps);
	if (!err) {
		memory.pages = publisher->maps.pages;
		memory.rules = publisher->maps.rules;
		memory.max_pools = (uint32_t)publisher->max_pools;
		err = store_open(&publisher->store, &memory);
	}
	if (!err)
		err = store_reserve(publisher->store, publisher->max_pools < FIRST_POOLS
							      ? (uint32_t)publisher->max_pools
							      : FIRST_POOLS);
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
	for (i = 0; i < publisher->files.count; i++) {
		free(publisher->files.items[i].segments);
		store_remove(publisher->store, publisher->files.items[i].stored, 0);
	}
	for (i = 0; i < publisher->processes.count; i++)
		mapping_set_clear(&publisher->processes.items[i].set);
	mapping_runs_close(&publisher->runs);
	free(publisher->files.items);
	free(publisher->processes.items);
	free(publisher->noted.items);
	free(publisher->over.items);
	free(publisher->plain.items);
	free(publisher->jobs.items);
	store_close(publisher->store);
	free(publisher);
}

struct publisher_stats publisher_get_stats(const struct publisher *publisher)
{
	struct publisher_stats stats = publisher->stats;
	struct store_stats store = store_get_stats(publisher->store);

	stats.tables = store.tables;
	stats.table_bytes = store.rows * sizeof(uint32_t) + store.pages * sizeof(struct gb_page);
	return stats;
}

/* ---- tables of files ---------------------------------------------------------------- */

static int file_of(struct publisher *publisher, const struct object *object,
		   struct file_table **out)
{
	size_t need = (size_t)object->number + 1;
	int err;

	err = array_reserve((void **)&publisher->files.items, &publisher->files.capacity, need,
			    sizeof(*publisher->files.items));
	if (err)
		return err;
	while (publisher->files.count < need)
		publisher->files.items[publisher->files.count++] = (struct file_table){0};
	*out = &publisher->files.items[object->number];
	return 0;
}

/* The table that was in nobody's way longest goes. False: all are in use. */
static bool evict_one(struct publisher *publisher, uint64_t now)
{
	struct file_table *oldest = NULL;
	size_t i;

	for (i = 0; i < publisher->files.count; i++) {
		struct file_table *file = &publisher->files.items[i];

		if (!file->stored || file->users || now - file->unused_since_ns < GRACE_NS)
			continue;
		if (!oldest || file->unused_since_ns < oldest->unused_since_ns)
			oldest = file;
	}
	if (!oldest)
		return false;
	/* its grace is over */
	store_remove(publisher->store, oldest->stored, oldest->unused_since_ns);
	oldest->stored = NULL;
	oldest->is_tried = false; /* who maps it again gets a new one */
	publisher->stats.evicted++;
	return true;
}

static int store_table(struct publisher *publisher, struct file_table *file,
		       const struct unwind_table *table)
{
	uint64_t now = clock_now_ns();
	int err;

	do
		err = store_add(publisher->store, table, now, &file->stored);
	while (err == -ENOSPC && evict_one(publisher, now));
	file->unused_since_ns = now; /* it is about to be used */
	if (err == -ENOSPC)
		publisher->stats.no_room++;
	return err == -ENOSPC ? 0 : err;
}

static int keep_segments(struct file_table *file, const struct unwind_table *table)
{
	size_t bytes = table->segment_count * sizeof(*table->segments);

	free(file->segments);
	file->segments = malloc(bytes ? bytes : 1);
	if (!file->segments)
		return -ENOMEM;
	memcpy(file->segments, table->segments, bytes);
	file->segment_count = table->segment_count;
	return 0;
}

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

/* Where the bytes of an object are. False: nowhere, it is left to frame pointers. */
static bool source_of(const struct object *object, struct unwind_source *source)
{
	*source = (struct unwind_source){.fd = object->fd};
	if (object->kind == OBJECT_VDSO) {
		source->image = (const void *)getauxval(AT_SYSINFO_EHDR);
		source->image_bytes = source->image ? 2 * (size_t)sysconf(_SC_PAGESIZE) : 0;
	}
	return object->kind != OBJECT_ANONYMOUS && (source->fd >= 0 || source->image);
}

/* Takes over a compiled table. Anything but -ENOMEM leaves the file to frame pointers. */
static int keep_table(struct publisher *publisher, struct file_table *file,
		      const struct compile_job *job)
{
	int err = 0;

	if (job->error)
		return job->error == -ENOMEM ? -ENOMEM : 0;
	/* Without .eh_frame it is all frame pointers, but for what is known by sight. */
	if (job->table->has_no_eh_frame && job->table->row_count <= job->table->page_count)
		publisher->stats.no_table++;
	else
		err = store_table(publisher, file, job->table);
	if (!err && file->stored) {
		err = keep_segments(file, job->table);
		file->flags = job->table->tracks_rbx ? GB_MAPPING_TRACKS_RBX : 0;
	}
	return err;
}

/* Notes the files that `process` has mapped since the last time and that nobody has met before. */
static int collect_jobs(struct publisher *publisher, const struct process *process)
{
	const struct address_space *space = &process->space;
	struct published *published;
	struct file_table *file;
	struct compile_job job;
	size_t i;
	int err;

	err = published_of(publisher, process, &published);
	for (i = err ? space->count : published->applied; i < space->count && !err; i++) {
		const struct object *object = space->items[i].object;
		struct stat stat_buf;

		err = file_of(publisher, object, &file);
		if (err || file->is_tried)
			continue;
		file->is_tried = true;
		file->flags = GB_MAPPING_NO_TABLE;
		job = (struct compile_job){.tag = object->number};
		if (!source_of(object, &job.source))
			continue;
		if (job.source.fd >= 0 && !fstat(job.source.fd, &stat_buf))
			job.bytes = (uint64_t)stat_buf.st_size;
		err = ARRAY_ROOM(&publisher->jobs);
		if (!err)
			publisher->jobs.items[publisher->jobs.count++] = job;
	}
	return err;
}

/* Compiles and stores the tables of all new files. */
static int load_tables(struct publisher *publisher)
{
	uint64_t start = clock_now_ns(), compiled;
	int err = 0, first = 0;
	size_t i;

	for (i = 0; i < publisher->noted.count; i++) {
		err = collect_jobs(publisher, publisher->noted.items[i]);
		first = first ? first : err;
	}
	if (!publisher->jobs.count)
		return first;
	compile_pool_run(publisher->jobs.items, publisher->jobs.count);
	compiled = clock_now_ns();
	for (i = 0; i < publisher->jobs.count; i++) {
		struct compile_job *job = &publisher->jobs.items[i];

		err = keep_table(publisher, &publisher->files.items[job->tag], job);
		first = first ? first : err;
		unwind_table_close(job->table);
	}
	publisher->stats.compile_ns += compiled - start;
	log_debug("unwind tables: %zu files, compiled in %.1f ms, stored in %.1f ms",
		  publisher->jobs.count, (double)(compiled - start) / 1e6,
		  (double)(clock_now_ns() - compiled) / 1e6);
	publisher->jobs.count = 0;
	return first;
}

/*
 * Where file offset `offset`, at which code is mapped, is in the file's virtual addresses. False: in no segment with code. A page of the
 * file may hold the end of one segment and the start of the next, which lie at different addresses.
 */
static bool virtual_address(const struct file_table *file, uint64_t offset, uint64_t *out)
{
	const uint64_t page_mask = ~(uint64_t)4095;
	uint32_t i;

	for (i = 0; i < file->segment_count; i++) {
		const struct unwind_segment *segment = &file->segments[i];

		if (!segment->is_code || offset < (segment->offset & page_mask) ||
		    offset >= segment->offset + segment->bytes)
			continue;
		*out = segment->address + offset - segment->offset;
		return true;
	}
	return false;
}

/* ---- the mappings of a process ---------------------------------------------------------- */

static int resolve(struct publisher *publisher, const struct mapping *mapping,
		   struct live_mapping *out)
{
	struct file_table *file;
	uint64_t address;
	int err;

	err = file_of(publisher, mapping->object, &file);
	if (err)
		return err;
	*out = (struct live_mapping){.object = mapping->object->number};
	out->mapping.begin = mapping->start;
	out->mapping.end = mapping->end;
	out->mapping.flags = GB_MAPPING_NO_TABLE;
	if (file->stored && virtual_address(file, mapping->offset, &address)) {
		out->mapping.bias = mapping->start - address;
		out->mapping.page_offset = stored_page_offset(file->stored);
		out->mapping.flags = file->flags;
	}
	return 0;
}

static void use_file(void *context, uint32_t object, int change)
{
	struct publisher *publisher = context;
	struct file_table *file = &publisher->files.items[object];

	file->users += (uint32_t)change;
	if (!file->users)
		file->unused_since_ns = clock_now_ns();
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

static int publish_run(struct publisher *publisher, const struct process *process,
		       struct published *published)
{
	struct gb_process_map value = {.count = (uint32_t)published->set.count,
				       .exec_id = process->exec_id};
	struct mapping_run run;
	size_t i;
	int err;

	err = mapping_runs_take(&publisher->runs, published->set.count, clock_now_ns(), &run);
	if (err) {
		publisher->stats.no_room++;
		return 0;
	}
	for (i = 0; i < published->set.count; i++)
		publisher->maps.mappings[run.first + i] = published->set.items[i].mapping;
	value.first = run.first;
	if (!++publisher->generation)
		publisher->generation = 1; /* 0 is nobody's */
	value.generation = publisher->generation;
	err = kernel_side_set_process(publisher->kernel, process->tgid, &value);
	give_run(publisher, published);
	published->run = run;
	published->has_run = true;
	if (err)
		publisher->stats.no_room++;
	return 0;
}

/* Adds what the process has mapped since the last time to its set. */
static int lay_out(struct publisher *publisher, const struct process *process,
		   struct published *published)
{
	const struct mapping_counter counter = {.count = use_file, .context = publisher};
	const struct address_space *space = &process->space;
	struct live_mapping item;
	int err;

	for (; published->applied < space->count; published->applied++) {
		/* The vsyscall page is the kernel's, and the search compares as signed numbers. */
		if (space->items[published->applied].end > INT64_MAX)
			continue;
		err = resolve(publisher, &space->items[published->applied], &item);
		if (!err)
			err = mapping_set_overlay(&published->set, &item, &counter);
		if (err)
			return err;
	}
	return 0;
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
	return err ? err : publish_run(publisher, process, published);
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
	const uint64_t *words = (const uint64_t *)raw->pc + raw->kernel_count;
	struct raw_stack stack = {.regs = words};
	struct published *published;

	memcpy(out, raw, sizeof(*out) + raw->kernel_count * sizeof(raw->pc[0]));
	out->hdr.kind = GB_RECORD_SAMPLE;
	out->user_count = 0;
	out->user_end = GB_STACK_NO_PROCESS;
	if (raw->user_count >= GB_RAW_REGS && !published_of(publisher, process, &published)) {
		stack.words = words + GB_RAW_REGS;
		stack.word_count = raw->user_count - GB_RAW_REGS;
		stack.mappings = plain_mappings(publisher, published);
		stack.mapping_count = stack.mappings ? published->set.count : 0;
		out->user_count =
			(__u16)raw_unwind(publisher->store, &stack,
					  (uint64_t *)out->pc + raw->kernel_count, &out->user_end);
	}
	out->hdr.size = (__u32)(sizeof(*out) +
				((size_t)out->kernel_count + out->user_count) * sizeof(out->pc[0]));
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
	published->is_noted = true;
	publisher->noted.items[publisher->noted.count++] = process;
	return 0;
}

int publisher_flush(struct publisher *publisher)
{
	int err, first;
	size_t i;

	forget_those_over(publisher);
	first = load_tables(publisher);
	for (i = 0; i < publisher->noted.count; i++) {
		err = publish(publisher, publisher->noted.items[i]);
		if (err && !first)
			first = err;
	}
	publisher->noted.count = 0;
	return first;
}
