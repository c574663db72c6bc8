/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.c - see publish.h.
 *
 * Processes with many mappings wait for their turn when these change (layouts.h); until then they have those from before.
 */
#include "capture/publish.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/file_tables.h"
#include "capture/kernel_side.h"
#include "capture/layouts.h"
#include "reader/patience.h"
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
	struct layout *layout; /* NULL: it has none yet, or no more */
	bool is_noted, is_over;
	bool is_due; /* its turn has come */
	bool found_no_room; /* that was counted */
	bool is_forgotten; /* it is over, and its layout is gone */
	uint64_t over_ns;
};

struct publisher {
	struct kernel_side *kernel;
	struct kernel_tables maps;
	struct file_tables *files;
	struct layouts *layouts;
	struct patience *patience; /* with those who compile */
	uint64_t no_room; /* processes that found the maps full */
	bool is_behind; /* tables have come that are yet to be published */
	uint64_t refreshed_ns; /* when those that came later were published last */
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
};

/* ---- open, close ------------------------------------------------------------------ */

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	struct publisher *publisher = context;

	return kernel_side_add_pool(publisher->kernel, index, chunks);
}

int publisher_open(struct publisher **out, struct kernel_side *kernel, uint64_t max_bytes,
		   struct compile_pool *pool, struct patience *patience)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));
	struct unwind_memory memory = {.add_pool = add_pool, .context = publisher};
	int err;

	if (!publisher)
		return -ENOMEM;
	publisher->kernel = kernel;
	publisher->patience = patience;
	err = kernel_side_map_tables(kernel, &publisher->maps);
	if (!err) {
		memory.pages = publisher->maps.pages;
		memory.rules = publisher->maps.rules;
		memory.max_pools =
			(uint32_t)(max_bytes / (GB_POOL_CHUNKS * sizeof(struct gb_chunk)));
		err = file_tables_open(&publisher->files, &memory, pool);
	}
	if (!err)
		err = layouts_open(&publisher->layouts, publisher->maps.mappings, publisher->files);
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
		layouts_drop(publisher->layouts, publisher->processes.items[i].layout,
			     clock_now_ns());
	layouts_close(publisher->layouts);
	free(publisher->processes.items);
	free(publisher->noted.items);
	free(publisher->over.items);
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

static int want_file(void *context, const struct mapping *mapping)
{
	struct publisher *publisher = context;

	return file_tables_want(publisher->files, mapping->object, mapping->from_ns);
}

/* Whose turn it is, of those that were noted; the files that these have mapped are wanted. */
static int choose_due(struct publisher *publisher, uint64_t now_ns)
{
	int err, first = 0;
	size_t i;

	for (i = 0; i < publisher->noted.count; i++) {
		struct process *process = publisher->noted.items[i];
		struct published *published = &publisher->processes.items[process->number];

		published->is_due = true;
		if (process->died_ns || layout_is_of(published->layout, &process->space))
			continue;
		published->is_due = layouts_may_make(publisher->layouts, &process->space,
						     !published->layout, now_ns);
		err = published->is_due ? address_space_now(&process->space, want_file, publisher)
					: 0;
		published->is_due = published->is_due && !err;
		first = first ? first : err;
	}
	return first;
}

/* Has the tables of all new files compiled, and stores those that are by `until_ns`, or (`is_brief`) in a moment. */
static int load_tables(struct publisher *publisher, uint64_t now_ns, uint64_t until_ns,
		       bool is_brief)
{
	bool changed;
	int err, first = choose_due(publisher, now_ns);
	const uint64_t brief_ns = file_tables_wanted_ns(publisher->files) + PUBLISHER_WAIT_NS;

	if (is_brief && until_ns > brief_ns)
		until_ns = brief_ns;
	err = file_tables_load(publisher->files, now_ns, until_ns, &changed);
	publisher->is_behind |= changed;
	return first ? first : err;
}

/* ---- publishing --------------------------------------------------------------------------- */

static void forget(struct publisher *publisher, struct published *published)
{
	layouts_drop(publisher->layouts, published->layout, clock_now_ns());
	published->layout = NULL;
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
	if (published->layout)
		kernel_side_drop_process(publisher->kernel, process->tgid,
					 layout_place(published->layout).first);
	if (ARRAY_ROOM(&publisher->over))
		forget(publisher, published);
	else
		publisher->over.items[publisher->over.count++] = process->number;
}

static void count_no_room(struct publisher *publisher, struct published *published)
{
	publisher->no_room += !published->found_no_room;
	published->found_no_room = true;
}

/* Points the kernel at the layout that the process has. */
static void point(struct publisher *publisher, const struct process *process,
		  struct published *published)
{
	struct gb_process_map value = layout_place(published->layout);

	value.exec_id = process->exec_id;
	if (kernel_side_set_process(publisher->kernel, process->tgid, &value))
		count_no_room(publisher, published);
}

static int publish(struct publisher *publisher, struct process *process)
{
	struct published *published = &publisher->processes.items[process->number];
	const uint64_t now_ns = clock_now_ns();
	struct layout *layout;
	int err;

	published->is_noted = false;
	if (process->died_ns) {
		retire(publisher, process, published);
		return 0;
	}
	err = layouts_get(publisher->layouts, &process->space, now_ns, &layout);
	if (err == -ENOSPC) {
		count_no_room(publisher, published);
		return 0;
	}
	if (err)
		return err;
	layouts_drop(publisher->layouts, published->layout, now_ns);
	published->layout = layout;
	point(publisher, process, published);
	return 0;
}

bool publisher_unwind(struct publisher *publisher, const struct process *process,
		      const struct gb_sample *raw, struct gb_sample *out, uint32_t *awaited)
{
	const struct sample_part user = sample_user_part(raw);
	const uint64_t *words = (const uint64_t *)raw->pc + user.at;
	struct raw_sample sample = {.regs = words};
	const struct gb_mapping *missing = NULL;
	struct published *published;

	sample_without_user(raw, out);
	if (user.words >= GB_RAW_REGS && !published_of(publisher, process, &published)) {
		sample.words = words + GB_RAW_REGS;
		sample.word_count = user.words - GB_RAW_REGS;
		if (published->layout) {
			sample.mappings = layout_mappings(publisher->layouts, published->layout);
			sample.mapping_count = layout_place(published->layout).count;
		}
		out->runs[user.run].words = (__u16)raw_sample_unwind(
			file_tables_store(publisher->files), &sample, (uint64_t *)out->pc + user.at,
			&out->user_end, &missing);
	}
	out->hdr.size = (__u32)sample_bytes(out);
	if (!missing)
		return true;
	*awaited = layout_object(publisher->layouts, published->layout, missing);
	file_tables_hurry(publisher->files, *awaited);
	return false;
}

bool publisher_is_awaited(const struct publisher *publisher, uint32_t file)
{
	return publisher->is_behind || file_tables_is_awaited(publisher->files, file);
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

/* Files have got tables after they were mapped, or lost theirs: the processes that map them are published again. */
static void refresh(struct publisher *publisher, uint64_t now_ns)
{
	size_t i;

	publisher->is_behind = false;
	publisher->refreshed_ns = now_ns;
	layouts_begin_refresh(publisher->layouts);
	for (i = 0; i < publisher->processes.count; i++) {
		struct published *published = &publisher->processes.items[i];

		if (published->layout && !published->is_over &&
		    layouts_refresh(publisher->layouts, &published->layout, now_ns))
			point(publisher, published->process, published);
	}
}

/* Those whose turn it is. The others stay noted, in their order. */
static int publish_due(struct publisher *publisher)
{
	int err, first = 0;
	size_t kept = 0, i;

	for (i = 0; i < publisher->noted.count; i++) {
		struct process *process = publisher->noted.items[i];

		if (!publisher->processes.items[process->number].is_due) {
			publisher->noted.items[kept++] = process;
			continue;
		}
		err = publish(publisher, process);
		first = first ? first : err;
	}
	publisher->noted.count = kept;
	return first;
}

bool publisher_awaits(const struct publisher *publisher)
{
	return publisher->is_behind || file_tables_are_coming(publisher->files);
}

static int flush(struct publisher *publisher, uint64_t now_ns, uint64_t slice_ns)
{
	int err = 0;

	if (publisher->is_behind && now_ns - publisher->refreshed_ns >= slice_ns)
		refresh(publisher, now_ns);
	err = publish_due(publisher);
	forget_those_over(publisher);
	return err;
}

int publisher_flush(struct publisher *publisher, bool may_wait)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t until_ns = patience_until(publisher->patience, now_ns);
	int err, first = load_tables(publisher, now_ns, may_wait ? until_ns : 0, true);

	if (may_wait)
		patience_spend(publisher->patience, clock_now_ns());
	err = flush(publisher, now_ns, PUBLISHER_SLICE_NS);
	return first ? first : err;
}

int publisher_settle(struct publisher *publisher, uint64_t limit_ns)
{
	const uint64_t now_ns = clock_now_ns();
	int first = load_tables(publisher, now_ns, now_ns + limit_ns, false);
	int err = flush(publisher, now_ns, 0);

	return first ? first : err;
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
	return publisher->processes.capacity * sizeof(struct published) +
	       layouts_bytes(publisher->layouts) + file_tables_bytes(publisher->files);
}
