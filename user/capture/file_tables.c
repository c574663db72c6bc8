/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_tables.c - see file_tables.h.
 *
 * What waits is tried again a second after something has happened that makes room, and only if that may suffice: to
 * compile a large file in vain costs tens of milliseconds.
 */
#include "capture/file_tables.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "capture/compile_pool.h"
#include "capture/file_room.h"
#include "target/object.h"
#include "unwind/table.h"
#include "unwind/table_store.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define FIRST_POOLS 2 /* 8 MiB: more than the libraries of most programs need */

int file_tables_open(struct file_tables **out, const struct unwind_memory *memory,
		     struct compile_pool *pool)
{
	uint32_t first = memory->max_pools < FIRST_POOLS ? memory->max_pools : FIRST_POOLS;
	struct file_tables *tables = calloc(1, sizeof(*tables));
	int err;

	if (!tables)
		return -ENOMEM;
	tables->pool = pool;
	err = table_store_open(&tables->store, memory);
	if (!err)
		err = table_store_reserve(tables->store, first);
	if (err) {
		file_tables_close(tables);
		return err;
	}
	*out = tables;
	return 0;
}

void file_tables_close(struct file_tables *tables)
{
	size_t i;

	if (!tables)
		return;
	for (i = 0; i < tables->files.count; i++) {
		free(tables->files.items[i].segments);
		table_store_remove(tables->store, tables->files.items[i].stored, 0);
	}
	free(tables->files.items);
	free(tables->holdings.items);
	table_store_close(tables->store);
	free(tables);
}

const struct table_store *file_tables_store(const struct file_tables *tables)
{
	return tables->store;
}

struct file_tables_stats file_tables_get_stats(const struct file_tables *tables)
{
	struct file_tables_stats stats = tables->stats;
	struct table_store_stats store = table_store_get_stats(tables->store);

	stats.tables = store.tables;
	stats.table_bytes = store.rows * sizeof(uint32_t) + store.pages * sizeof(struct gb_page);
	return stats;
}

/* ---- loading -------------------------------------------------------------------------------- */

static int store_table(struct file_tables *tables, struct file_table *file,
		       const struct unwind_table *table, uint64_t now_ns)
{
	int err;

	file->size = table_store_needs(tables->store, table);
	err = file_must_queue(tables, file)
		      ? -ENOSPC
		      : table_store_add(tables->store, table, now_ns, &file->stored);
	if (err == -ENOSPC && file_room_make(tables, &file->size, now_ns))
		err = table_store_add(tables->store, table, now_ns, &file->stored);
	file->unused_since_ns = now_ns; /* it is about to be used */
	if (err == -ENOSPC && !file->waits)
		file_count_no_room(tables, file);
	file_set_waits(tables, file, err == -ENOSPC);
	if (file->waits) {
		log_debug("unwind tables: no room for %s: %" PRIu64 " rows, %" PRIu64
			  " pages, %" PRIu64 " rules",
			  file->object->path, file->size.rows, file->size.pages, file->size.rules);
		file_room_displace(tables, file, now_ns);
	}
	return err == -ENOSPC ? 0 : err;
}

static int keep_segments(struct file_table *file, const struct unwind_table *table)
{
	size_t bytes = table->segment_count * sizeof(*table->segments);

	free(file->segments);
	file->segments = malloc(bytes ? bytes : 1);
	file->segment_count = file->segments ? table->segment_count : 0;
	if (!file->segments)
		return -ENOMEM;
	memcpy(file->segments, table->segments, bytes);
	return 0;
}

static void count_beyond(struct file_tables *tables, const struct file_table *file,
			 enum unwind_limit limit)
{
	const char *path = file->object->path;
	const size_t length = strlen(path), room = sizeof(tables->stats.beyond.path) - 1;

	if (!tables->stats.beyond_limits++) {
		strcpy(tables->stats.beyond.path, path + (length > room ? length - room : 0));
		tables->stats.beyond.limit = limit;
	}
}

/* `bytes` of its code are followed by frame pointers, since it is beyond `limit`. */
static void count_skipped(struct file_tables *tables, struct file_table *file,
			  enum unwind_limit limit, uint64_t bytes)
{
	if (limit == UNWIND_LIMIT_NONE || file->is_skipped)
		return;
	file->is_skipped = true;
	tables->stats.skipped_files++;
	tables->stats.skipped_bytes += bytes;
	if (limit != UNWIND_LIMIT_CODE)
		count_beyond(tables, file, limit);
	log_debug("unwind tables: %s has %s: %" PRIu64
		  " bytes of its code are followed by frame pointers",
		  file->object->path, unwind_limit_text(limit), bytes);
}

/* A file that was asked for in vain. What is no ELF file, or could not be read, has no table, and that is all. */
static void note_failure(struct file_tables *tables, struct file_table *file,
			 const struct compile_result *result)
{
	static const struct {
		int error;
		const char *words;
	} causes[] = {
		[FILE_TABLE_LATE] = {-ETIMEDOUT, "took too long"},
		[FILE_TABLE_DIED] = {-EPIPE, "ended the process that compiled it"},
		[FILE_TABLE_BAD] = {-EBADMSG, "made the process that compiled it answer nonsense"},
		[FILE_TABLE_LARGE] = {-E2BIG, "takes too much memory"},
	};
	size_t i;

	file_set_waits(tables, file, false);
	if (result->error == -EFBIG)
		count_skipped(tables, file, UNWIND_LIMIT_PAGES, result->bytes);
	for (i = 0; i < FILE_TABLE_FAILURES; i++)
		if (causes[i].error == result->error) {
			tables->stats.failed[i]++;
			log_debug("unwind tables: none for %s: it %s", file->object->path,
				  causes[i].words);
		}
}

/* Takes over what is compiled. Anything but -ENOMEM leaves the file to frame pointers. */
static int keep_table(struct file_tables *tables, struct file_table *file,
		      const struct unwind_table *table, uint64_t now_ns)
{
	int err;

	tables->stats.compiled++;
	count_skipped(tables, file, table->stats.limit, table->stats.skipped_bytes);
	/* Without .eh_frame it is all frame pointers, but for what is known by sight. */
	if (table->has_no_eh_frame && table->row_count <= table->page_count) {
		tables->stats.no_table++;
		return 0;
	}
	file->flags = table->tracks_reg ? GB_MAPPING_TRACKS_REG : 0;
	err = keep_segments(file, table);
	return err ? err : store_table(tables, file, table, now_ns);
}

/* Where the bytes of an object are. False: nowhere, it is left to frame pointers. */
static bool open_bytes(const struct object *object, int *fd)
{
	*fd = object->kind == OBJECT_FILE ? objects_open_file(object) : -1;
	return object->kind == OBJECT_VDSO || *fd >= 0;
}

static int add_job(struct file_tables *tables, struct file_table *file, uint64_t mapped_ns)
{
	struct compile_job job = {
		.tag = file->object->number,
		.bytes = file->object->file.bytes,
		.mapped_ns = mapped_ns,
	};
	int err;

	if (!open_bytes(file->object, &job.fd)) {
		file_set_waits(tables, file, false);
		return 0;
	}
	file->owner = file->object->file.owner;
	err = compile_pool_add(tables->pool, &job);
	file->is_at_work = !err;
	tables->job_count += !err;
	if (!tables->batch.count)
		tables->batch.since_ns = clock_now_ns();
	tables->batch.count += !err;
	return err;
}

static void await(struct file_tables *tables, struct file_table *file)
{
	file->is_awaited = true;
	file->wanted_ns = tables->wanted_ns = clock_now_ns();
	if (!tables->awaited_until_ns)
		tables->awaited_until_ns = file->wanted_ns + FILE_TABLE_AWAITED_NS;
}

int file_tables_want(struct file_tables *tables, const struct object *object, uint64_t mapped_ns)
{
	struct file_table *file;
	int err;

	err = array_reserve((void **)&tables->files.items, &tables->files.capacity,
			    (size_t)object->number + 1, sizeof(*tables->files.items));
	if (err)
		return err;
	while (tables->files.count <= object->number)
		tables->files.items[tables->files.count++] = (struct file_table){0};
	file = &tables->files.items[object->number];
	if (file->is_tried)
		return 0;
	file->object = object;
	file->is_tried = true;
	err = add_job(tables, file, mapped_ns);
	if (file->is_at_work)
		await(tables, file);
	return err;
}

/* Those that wait in vain are waited for no more; of the others, those that may have room now are compiled again. */
static int add_waiting(struct file_tables *tables, uint64_t now_ns)
{
	const struct table_store_size gone = file_room_evictable(tables, now_ns);
	size_t i;
	int err = 0;

	for (i = 0; i < tables->files.count && !err; i++) {
		struct file_table *file = &tables->files.items[i];

		if (!file->waits || file->is_at_work ||
		    (file->is_displaced && file_room_is_awaited(tables) && file->users))
			continue;
		if (!file->users) {
			file_set_waits(tables, file, false);
			file->is_tried = false;
		} else if (table_store_could_hold(tables->store, &file->size, &gone)) {
			err = add_job(tables, file, now_ns);
		}
	}
	return err;
}

static int take_result(struct file_tables *tables, struct compile_result *result, uint64_t now_ns,
		       bool *changed)
{
	struct file_table *file = &tables->files.items[result->tag];
	const bool is_late = file->users && !file->stored, was_awaited = file->is_awaited;
	int err = 0;

	file->is_at_work = file->is_awaited = false;
	tables->job_count--;
	if (result->error) {
		note_failure(tables, file, result);
	} else {
		err = keep_table(tables, file, &result->made.table, now_ns);
		table_close(&result->made);
	}
	*changed = *changed || (is_late && (file->stored || was_awaited));
	return err;
}

static void tell_done(struct file_tables *tables)
{
	const double ms = (double)(clock_now_ns() - tables->batch.since_ns) / 1e6;

	log_debug("unwind tables: %zu files in %.1f ms", tables->batch.count, ms);
	tables->batch.count = 0;
}

/* As many as are done by `until_ns`; the others come with a later load. */
static int take_results(struct file_tables *tables, uint64_t now_ns, uint64_t until_ns,
			bool *changed)
{
	struct compile_result result;
	int err, first = 0;

	while (compile_pool_next(tables->pool, until_ns, &result)) {
		err = take_result(tables, &result, now_ns, changed);
		first = first ? first : err;
	}
	if (!tables->job_count)
		tell_done(tables);
	return first;
}

uint64_t file_tables_wanted_ns(const struct file_tables *tables)
{
	return tables->wanted_ns;
}

bool file_tables_are_coming(const struct file_tables *tables)
{
	return tables->job_count > 0;
}

bool file_tables_is_awaited(const struct file_tables *tables, uint32_t object)
{
	return object < tables->files.count && tables->files.items[object].is_awaited;
}

void file_tables_hurry(struct file_tables *tables, uint32_t object)
{
	compile_pool_hurry(tables->pool, object);
}

/* What has taken too long is awaited no more, though it may come. */
static void end_awaiting(struct file_tables *tables, uint64_t now_ns, bool *changed)
{
	uint64_t first_ns = 0;
	size_t i;

	if (!tables->awaited_until_ns || now_ns < tables->awaited_until_ns)
		return;
	for (i = 0; i < tables->files.count; i++) {
		struct file_table *file = &tables->files.items[i];
		const uint64_t until_ns = file->wanted_ns + FILE_TABLE_AWAITED_NS;

		if (!file->is_awaited)
			continue;
		file->is_awaited = now_ns < until_ns;
		*changed |= !file->is_awaited && file->users;
		if (file->is_awaited && (!first_ns || until_ns < first_ns))
			first_ns = until_ns;
	}
	tables->awaited_until_ns = first_ns;
}

int file_tables_load(struct file_tables *tables, uint64_t now_ns, uint64_t until_ns, bool *changed)
{
	int err = 0, run_err = 0;

	*changed = false;
	if (table_store_tend(tables->store, now_ns))
		file_room_note(tables, now_ns);
	if (file_room_take(tables, now_ns))
		err = add_waiting(tables, now_ns);
	if (tables->job_count)
		run_err = take_results(tables, now_ns, until_ns, changed);
	end_awaiting(tables, clock_now_ns(), changed);
	*changed |= tables->has_displaced;
	tables->has_displaced = false;
	return err ? err : run_err;
}

/* ---- mappings -------------------------------------------------------------------------------- */

void file_tables_use(struct file_tables *tables, uint32_t object, int change, uint64_t now_ns)
{
	struct file_table *file = &tables->files.items[object];

	file->users += (uint32_t)change;
	if (file->users)
		return;
	file->unused_since_ns = now_ns;
	if (file->stored)
		file_room_note(tables, now_ns);
}

/*
 * Where file offset `offset`, at which code is mapped, is in the file's virtual addresses. False: in no segment with
 * code. A page of the file may hold the end of one segment and the start of the next, which lie at different addresses.
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

bool file_tables_resolve(const struct file_tables *tables, uint32_t object, uint64_t offset,
			 struct gb_mapping *mapping)
{
	uint64_t address;

	mapping->flags = GB_MAPPING_NO_TABLE;
	if (file_tables_is_awaited(tables, object))
		mapping->flags |= GB_MAPPING_AWAITED;
	mapping->bias = mapping->begin - offset;
	if (object >= tables->files.count ||
	    !virtual_address(&tables->files.items[object], offset, &address))
		return false;
	mapping->bias = mapping->begin - address;
	(void)file_tables_refresh(tables, object, mapping);
	return true;
}

bool file_tables_refresh(const struct file_tables *tables, uint32_t object,
			 struct gb_mapping *mapping)
{
	const struct file_table *file = &tables->files.items[object];
	const uint32_t without = GB_MAPPING_NO_TABLE | (file->is_awaited ? GB_MAPPING_AWAITED : 0);
	const uint32_t flags = file->stored ? file->flags : without;

	if (mapping->flags == flags)
		return false;
	mapping->page_offset = file->stored ? stored_page_offset(file->stored) : 0;
	mapping->flags = flags;
	return true;
}

/* ---- forgetting ------------------------------------------------------------------------------ */

bool file_tables_forget(struct file_tables *tables, uint32_t object, uint64_t now_ns)
{
	struct file_table *file;

	if (object >= tables->files.count)
		return true;
	file = &tables->files.items[object];
	if (file->users || file->is_at_work ||
	    !table_store_grace_is_over(file->unused_since_ns, now_ns))
		return false;
	file_set_waits(tables, file, false);
	if (file->stored)
		file_room_note(tables, now_ns);
	table_store_remove(tables->store, file->stored, file->unused_since_ns);
	free(file->segments);
	*file = (struct file_table){0};
	return true;
}

size_t file_tables_bytes(const struct file_tables *tables)
{
	size_t bytes = tables->files.capacity * sizeof(struct file_table), i;

	for (i = 0; i < tables->files.count; i++)
		bytes += tables->files.items[i].segment_count * sizeof(struct unwind_segment);
	return bytes;
}
