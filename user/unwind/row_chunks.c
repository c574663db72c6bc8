/* SPDX-License-Identifier: BSD-2-Clause */
/* row_chunks.c - see row_chunks.h. */
#include "unwind/row_chunks.h"

#include "base/array.h"
#include "unwind/table.h"

#include <errno.h>
#include <string.h>

#define NO_CHUNK UINT32_MAX
#define KEPT_CHUNKS 1 /* that tables leave empty */
#define COMPACT_CHUNKS 16 /* full of rows are copied at once: 1 MiB */
#define COMPACT_VICTIMS 64 /* they may come from as many */
#define MAX_SLACK (UNWIND_MAX_ROWS_PER_PAGE - 1) /* rows at the end of a chunk that no page fits */

/*
 * As many rows at least have gone from a chunk that is compacted: when pools are out, and when
 * another one had to be made.
 */
#define HOLES_WHEN_FULL (GB_CHUNK_ROWS / 64)
#define HOLES_WHEN_GROWN (GB_CHUNK_ROWS / 2)

void row_chunks_open(struct row_chunks *chunks, const struct unwind_memory *memory)
{
	chunks->memory = memory;
	chunks->open = NO_CHUNK;
}

void row_chunks_close(struct row_chunks *chunks)
{
	free(chunks->uses.items);
}

uint32_t *row_chunks_rows(const struct row_chunks *chunks, uint32_t chunk)
{
	return chunks->pools[chunk / GB_POOL_CHUNKS][chunk % GB_POOL_CHUNKS].rows;
}

static uint32_t max_pools(const struct row_chunks *chunks)
{
	return chunks->memory->max_pools < GB_MAX_POOLS ? chunks->memory->max_pools : GB_MAX_POOLS;
}

static bool is_free(const struct chunk_use *use, uint64_t now_ns)
{
	return !use->live && (!use->freed_ns || table_store_grace_is_over(use->freed_ns, now_ns));
}

/* ---- taking and giving -------------------------------------------------------------- */

int row_chunks_add_pool(struct row_chunks *chunks)
{
	size_t count = chunks->uses.count + GB_POOL_CHUNKS;
	int err;

	if (chunks->pool_count >= max_pools(chunks))
		return -ENOSPC;
	err = array_reserve((void **)&chunks->uses.items, &chunks->uses.capacity, count,
			    sizeof(*chunks->uses.items));
	if (!err)
		err = chunks->memory->add_pool(chunks->memory->context, chunks->pool_count,
					       &chunks->pools[chunks->pool_count]);
	if (err)
		return err;
	memset(chunks->uses.items + chunks->uses.count, 0,
	       GB_POOL_CHUNKS * sizeof(*chunks->uses.items));
	chunks->uses.count = count;
	chunks->pool_count++;
	return 0;
}

/* A free chunk, if `kept` more are empty, or about to be free. */
static int find_free(const struct row_chunks *chunks, uint32_t kept, uint64_t now_ns,
		     uint32_t *chunk)
{
	uint32_t found = NO_CHUNK, empty = 0, i;

	for (i = 0; i < chunks->uses.count && (found == NO_CHUNK || empty <= kept); i++) {
		const struct chunk_use *use = &chunks->uses.items[i];

		empty += !use->live;
		if (found == NO_CHUNK && is_free(use, now_ns))
			found = i;
	}
	if (found == NO_CHUNK || empty <= kept)
		return -ENOSPC;
	*chunk = found;
	return 0;
}

static void open_chunk(struct row_chunks *chunks, uint32_t chunk)
{
	chunks->uses.items[chunk] = (struct chunk_use){0};
	chunks->open = chunk;
}

static bool open_has_room(const struct row_chunks *chunks, uint32_t count)
{
	return chunks->open != NO_CHUNK &&
	       chunks->uses.items[chunks->open].filled + count <= GB_CHUNK_ROWS;
}

static void put_in_open(struct row_chunks *chunks, uint32_t count, struct gb_page *page)
{
	struct chunk_use *use = &chunks->uses.items[chunks->open];

	*page = (struct gb_page){
		.chunk = chunks->open, .first = (uint16_t)use->filled, .count = (uint16_t)count};
	chunks->used_chunks += !use->live;
	use->filled += count;
	use->live += count;
	chunks->used_rows += count;
}

static void want_room(struct row_chunks *chunks, uint32_t min_holes)
{
	if (!chunks->min_holes || chunks->min_holes > min_holes)
		chunks->min_holes = min_holes;
}

static int open_another(struct row_chunks *chunks, uint64_t now_ns)
{
	uint32_t chunk;
	int err = find_free(chunks, KEPT_CHUNKS, now_ns, &chunk);

	if (err) {
		want_room(chunks, HOLES_WHEN_GROWN);
		err = row_chunks_add_pool(chunks);
		if (!err)
			err = find_free(chunks, KEPT_CHUNKS, now_ns, &chunk);
	}
	if (err == -ENOSPC)
		want_room(chunks, HOLES_WHEN_FULL);
	if (!err)
		open_chunk(chunks, chunk);
	return err;
}

int row_chunks_take(struct row_chunks *chunks, uint32_t count, uint64_t now_ns,
		    struct gb_page *page)
{
	int err = open_has_room(chunks, count) ? 0 : open_another(chunks, now_ns);

	if (!err)
		put_in_open(chunks, count, page);
	return err;
}

void row_chunks_give(struct row_chunks *chunks, const struct gb_page *page, uint64_t now_ns)
{
	struct chunk_use *use = &chunks->uses.items[page->chunk];

	if (!page->count)
		return;
	use->live -= page->count;
	chunks->used_rows -= page->count;
	chunks->used_chunks -= !use->live;
	if (use->freed_ns < now_ns)
		use->freed_ns = now_ns;
}

/* ---- how much room there is ------------------------------------------------------------ */

void row_chunks_want(struct row_chunks *chunks)
{
	want_room(chunks, HOLES_WHEN_FULL);
}

static uint64_t open_rest(const struct row_chunks *chunks)
{
	if (chunks->open == NO_CHUNK)
		return 0;
	return GB_CHUNK_ROWS - chunks->uses.items[chunks->open].filled;
}

/* Chunks that can be written now, and those that are empty but not yet free; without the open one. */
static uint64_t count_free(const struct row_chunks *chunks, uint64_t now_ns, uint64_t *waiting)
{
	uint64_t count = 0;
	uint32_t i;

	*waiting = 0;
	for (i = 0; i < chunks->uses.count; i++) {
		const struct chunk_use *use = &chunks->uses.items[i];

		if (i == chunks->open || use->live)
			continue;
		if (is_free(use, now_ns))
			count++;
		else
			++*waiting;
	}
	return count;
}

uint64_t row_chunks_free(const struct row_chunks *chunks, uint64_t now_ns)
{
	uint64_t pools = max_pools(chunks) - chunks->pool_count, waiting;
	uint64_t free = count_free(chunks, now_ns, &waiting) + pools * GB_POOL_CHUNKS;

	if (waiting < KEPT_CHUNKS)
		free -= free < KEPT_CHUNKS - waiting ? free : KEPT_CHUNKS - waiting;
	return open_rest(chunks) + free * GB_CHUNK_ROWS;
}

uint64_t row_chunks_limit(const struct row_chunks *chunks)
{
	uint64_t count = (uint64_t)max_pools(chunks) * GB_POOL_CHUNKS;

	return count < KEPT_CHUNKS ? 0 : (count - KEPT_CHUNKS) * GB_CHUNK_ROWS;
}

/* ---- compaction ---------------------------------------------------------------------------- */

/* The chunk with the fewest live rows that is worth it, and no victim yet; NULL: there is none. */
static struct chunk_use *sparsest(const struct row_chunks *chunks)
{
	struct chunk_use *found = NULL;
	uint32_t i;

	for (i = 0; i < chunks->uses.count; i++) {
		struct chunk_use *use = &chunks->uses.items[i];

		if (use->live && use->filled - use->live >= chunks->min_holes && !use->is_victim &&
		    i != chunks->open && (!found || use->live < found->live))
			found = use;
	}
	return found;
}

/*
 * Rows that certainly fit into the open chunk and `free` others: all but the last of these may lose
 * some at their end.
 */
static uint64_t room_in(const struct row_chunks *chunks, uint64_t free)
{
	uint64_t rest = open_rest(chunks);

	if (!free)
		return rest;
	rest = rest > MAX_SLACK ? rest - MAX_SLACK : 0;
	return rest + free * GB_CHUNK_ROWS - (free - 1) * MAX_SLACK;
}

/* As many sparse chunks as there certainly is room for. Returns their number. */
static uint32_t choose_victims(struct row_chunks *chunks, uint64_t now_ns)
{
	uint64_t waiting, free = count_free(chunks, now_ns, &waiting), room;
	struct chunk_use *use;
	uint32_t count = 0;

	room = room_in(chunks, free < COMPACT_CHUNKS ? free : COMPACT_CHUNKS);
	while (count < COMPACT_VICTIMS && (use = sparsest(chunks)) && use->live <= room) {
		room -= use->live;
		use->is_victim = true;
		count++;
	}
	return count;
}

static int move_page(struct row_chunks *chunks, struct gb_page *entry, uint64_t now_ns)
{
	struct gb_page page;
	uint32_t chunk;
	int err;

	if (!open_has_room(chunks, entry->count)) {
		err = find_free(chunks, 0, now_ns, &chunk);
		if (err)
			return err;
		open_chunk(chunks, chunk);
	}
	put_in_open(chunks, entry->count, &page);
	memcpy(row_chunks_rows(chunks, page.chunk) + page.first,
	       row_chunks_rows(chunks, entry->chunk) + entry->first,
	       entry->count * sizeof(uint32_t));
	row_chunks_give(chunks, entry, now_ns);
	row_chunks_set_page(entry, page);
	return 0;
}

static void move_victims(struct row_chunks *chunks, uint32_t page_count, uint64_t now_ns)
{
	struct gb_page *entry = chunks->memory->pages, *end = entry + page_count;
	uint32_t i;

	for (; entry < end; entry++)
		if (entry->count && chunks->uses.items[entry->chunk].is_victim &&
		    move_page(chunks, entry, now_ns))
			break;
	for (i = 0; i < chunks->uses.count; i++)
		chunks->uses.items[i].is_victim = false;
}

bool row_chunks_compact(struct row_chunks *chunks, uint32_t page_count, uint64_t now_ns)
{
	struct chunk_use *open =
		chunks->open == NO_CHUNK ? NULL : &chunks->uses.items[chunks->open];
	uint64_t waiting;

	if (!chunks->min_holes)
		return false;
	/* The open chunk may be the sparsest of all. */
	if (open && open->filled - open->live >= GB_CHUNK_ROWS / 2)
		chunks->open = NO_CHUNK;
	if (choose_victims(chunks, now_ns)) {
		move_victims(chunks, page_count, now_ns);
		return true;
	}
	/* With what is about to be free there may be room for more. */
	(void)count_free(chunks, now_ns, &waiting);
	if (!waiting || !sparsest(chunks))
		chunks->min_holes = 0;
	return false;
}
