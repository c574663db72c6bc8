/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.c - see store.h.
 *
 * Rows are appended to the open chunk; a chunk whose rows have all gone is used again. Pages are runs found first-fit in a
 * list of free ones. A rule is stored once, with the number of tables that use it.
 */
#include "unwind/store.h"

#include "base/array.h"
#include "unwind/table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define GRACE_NS 1000000000ULL
#define NO_CHUNK UINT32_MAX
#define NO_RULE UINT32_MAX

struct chunk_use {
	uint32_t filled; /* rows from 0 to here are taken */
	uint32_t live; /* of them, rows that tables use */
	uint64_t freed_ns; /* when live became 0 */
};

/* Free pages [first, first + count), since freed_ns. */
struct page_run {
	uint32_t first, count;
	uint64_t freed_ns;
};

struct stored_table {
	uint32_t page_base, page_count;
	uint64_t first_page;
	uint32_t rule_count;
	uint32_t rules[]; /* numbers of the rules it uses */
};

struct unwind_store {
	struct unwind_memory memory;
	struct store_stats stats;
	struct gb_chunk *pools[GB_MAX_POOLS];
	struct {
		struct chunk_use *items;
		size_t count, capacity;
	} chunks;
	uint32_t open_chunk;
	struct {
		struct page_run *items;
		size_t count, capacity;
	} free_pages;
	uint32_t rule_uses[GB_MAX_RULES];
	uint32_t rule_slots[2 * GB_MAX_RULES]; /* open addressing: rule number + 1; 0: free */
	uint32_t rule_top; /* rules below were given out */
};

int store_open(struct unwind_store **out, const struct unwind_memory *memory)
{
	struct unwind_store *store = calloc(1, sizeof(*store));

	if (!store)
		return -ENOMEM;
	store->memory = *memory;
	store->open_chunk = NO_CHUNK;
	if (ARRAY_ROOM(&store->free_pages)) {
		free(store);
		return -ENOMEM;
	}
	store->free_pages.items[store->free_pages.count++] =
		(struct page_run){.first = 0, .count = GB_MAX_PAGES};
	*out = store;
	return 0;
}

void store_close(struct unwind_store *store)
{
	if (!store)
		return;
	free(store->chunks.items);
	free(store->free_pages.items);
	free(store);
}

struct store_stats store_get_stats(const struct unwind_store *store)
{
	return store->stats;
}

int32_t stored_page_offset(const struct stored_table *stored)
{
	return (int32_t)(stored->page_base - (uint32_t)stored->first_page);
}

/* ---- rules ------------------------------------------------------------------------ */

static uint32_t hash_rule(const struct gb_unwind_rule *rule)
{
	uint64_t words[2];

	_Static_assert(sizeof(words) == sizeof(*rule), "a rule is two words");
	memcpy(words, rule, sizeof(words));
	words[0] = (words[0] ^ words[1] * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return (uint32_t)(words[0] >> 40);
}

static uint32_t *rule_slot(struct unwind_store *store, const struct gb_unwind_rule *rule)
{
	const uint32_t mask = 2 * GB_MAX_RULES - 1;
	uint32_t at = hash_rule(rule) & mask;

	while (store->rule_slots[at] &&
	       memcmp(&store->memory.rules[store->rule_slots[at] - 1], rule, sizeof(*rule)))
		at = (at + 1) & mask;
	return &store->rule_slots[at];
}

/* A rule without uses keeps its number: the next table is likely to bring it back, and all of Debian has 5,000. */
static uint32_t use_rule(struct unwind_store *store, const struct gb_unwind_rule *rule)
{
	uint32_t *slot = rule_slot(store, rule), number;

	if (!*slot) {
		if (store->rule_top == GB_MAX_RULES)
			return NO_RULE;
		number = store->rule_top++;
		store->memory.rules[number] = *rule;
		*slot = number + 1;
	}
	number = *slot - 1;
	if (!store->rule_uses[number]++)
		store->stats.rules++;
	return number;
}

static void release_rules(struct unwind_store *store, const uint32_t *rules, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!--store->rule_uses[rules[i]])
			store->stats.rules--;
}

static int use_rules(struct unwind_store *store, const struct unwind_table *table,
		     struct stored_table *stored)
{
	for (; stored->rule_count < table->rule_count; stored->rule_count++) {
		uint32_t number = use_rule(store, &table->rules[stored->rule_count]);

		if (number == NO_RULE)
			return -ENOSPC;
		stored->rules[stored->rule_count] = number;
	}
	return 0;
}

/* ---- pages ------------------------------------------------------------------------ */

static void drop_run(struct unwind_store *store, size_t index)
{
	store->free_pages.items[index] = store->free_pages.items[--store->free_pages.count];
}

static int take_pages(struct unwind_store *store, uint32_t count, uint64_t now_ns, uint32_t *first)
{
	size_t i;

	for (i = 0; i < store->free_pages.count; i++) {
		struct page_run *run = &store->free_pages.items[i];

		if (run->count < count || (run->freed_ns && now_ns - run->freed_ns < GRACE_NS))
			continue;
		*first = run->first;
		run->first += count;
		run->count -= count;
		if (!run->count)
			drop_run(store, i);
		store->stats.pages += count;
		return 0;
	}
	return -ENOSPC;
}

static bool joins(const struct page_run *a, const struct page_run *b)
{
	return a->first + a->count == b->first || b->first + b->count == a->first;
}

/* Takes the neighbours of `run` out of the list, into it; not the pages that were never used, whose grace is not to begin. */
static void join_neighbours(struct unwind_store *store, struct page_run *run)
{
	size_t i = 0;

	while (i < store->free_pages.count) {
		const struct page_run *other = &store->free_pages.items[i];

		if (!other->freed_ns || !joins(other, run)) {
			i++;
			continue;
		}
		run->first = other->first < run->first ? other->first : run->first;
		run->count += other->count;
		drop_run(store, i);
	}
}

/* Never fails: without memory for another run, the pages are lost to the store, which is as good as full. */
static void give_pages(struct unwind_store *store, uint32_t first, uint32_t count, uint64_t now_ns)
{
	struct page_run run = {.first = first, .count = count, .freed_ns = now_ns};

	store->stats.pages -= count;
	join_neighbours(store, &run);
	if (!ARRAY_ROOM(&store->free_pages))
		store->free_pages.items[store->free_pages.count++] = run;
}

/* ---- rows ------------------------------------------------------------------------- */

static uint32_t *chunk_rows(const struct unwind_store *store, uint32_t chunk)
{
	return store->pools[chunk / GB_POOL_CHUNKS][chunk % GB_POOL_CHUNKS].rows;
}

static int find_free_chunk(struct unwind_store *store, uint64_t now_ns, uint32_t *chunk)
{
	size_t i;

	for (i = 0; i < store->chunks.count; i++) {
		struct chunk_use *use = &store->chunks.items[i];

		if (use->live || (use->freed_ns && now_ns - use->freed_ns < GRACE_NS))
			continue;
		*chunk = (uint32_t)i;
		return 0;
	}
	return -ENOSPC;
}

static int add_pool(struct unwind_store *store)
{
	uint32_t index = (uint32_t)store->stats.pools;
	size_t count = store->chunks.count + GB_POOL_CHUNKS;
	int err;

	if (index == GB_MAX_POOLS)
		return -ENOSPC;
	err = array_reserve((void **)&store->chunks.items, &store->chunks.capacity, count,
			    sizeof(*store->chunks.items));
	if (!err)
		err = store->memory.add_pool(store->memory.context, index, &store->pools[index]);
	if (err)
		return err;
	memset(store->chunks.items + store->chunks.count, 0,
	       GB_POOL_CHUNKS * sizeof(*store->chunks.items));
	store->chunks.count = count;
	store->stats.pools++;
	return 0;
}

int store_reserve(struct unwind_store *store, uint32_t count)
{
	int err = 0;

	while (!err && store->stats.pools < count)
		err = add_pool(store);
	return err;
}

static int open_chunk(struct unwind_store *store, uint64_t now_ns)
{
	uint32_t chunk;
	int err;

	err = find_free_chunk(store, now_ns, &chunk);
	if (err) {
		err = add_pool(store);
		if (!err)
			err = find_free_chunk(store, now_ns, &chunk);
	}
	if (err)
		return err;
	store->chunks.items[chunk] = (struct chunk_use){0};
	store->open_chunk = chunk;
	return 0;
}

/* Room for all rows of one page. */
static int take_rows(struct unwind_store *store, uint32_t count, uint64_t now_ns,
		     struct gb_page *page)
{
	struct chunk_use *use;
	int err;

	if (store->open_chunk == NO_CHUNK ||
	    store->chunks.items[store->open_chunk].filled + count > GB_CHUNK_ROWS) {
		err = open_chunk(store, now_ns);
		if (err)
			return err;
	}
	use = &store->chunks.items[store->open_chunk];
	*page = (struct gb_page){.chunk = store->open_chunk,
				 .first = (uint16_t)use->filled,
				 .count = (uint16_t)count};
	if (!use->live)
		store->stats.chunks++;
	use->filled += count;
	use->live += count;
	store->stats.rows += count;
	return 0;
}

static void give_rows(struct unwind_store *store, const struct gb_page *page, uint64_t now_ns)
{
	struct chunk_use *use = &store->chunks.items[page->chunk];

	if (!page->count)
		return;
	use->live -= page->count;
	store->stats.rows -= page->count;
	if (use->live)
		return;
	use->freed_ns = now_ns;
	store->stats.chunks--;
}

/* ---- tables ----------------------------------------------------------------------- */

static int put_page(struct unwind_store *store, const struct unwind_table *table,
		    const struct stored_table *stored, uint32_t index, uint64_t now_ns)
{
	const struct unwind_page *from = &table->pages[index];
	struct gb_page page;
	uint32_t *rows, i;
	int err;

	err = take_rows(store, from->count, now_ns, &page);
	if (err)
		return err;
	rows = chunk_rows(store, page.chunk) + page.first;
	for (i = 0; i < from->count; i++) {
		uint32_t row = table->rows[from->first + i];

		rows[i] = stored->rules[row >> UNWIND_PAGE_BITS] << UNWIND_PAGE_BITS |
			  (row & ((1U << UNWIND_PAGE_BITS) - 1));
	}
	store->memory.pages[stored->page_base + index] = page;
	return 0;
}

static void take_back(struct unwind_store *store, struct stored_table *stored, uint32_t pages_put,
		      uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < pages_put; i++) {
		give_rows(store, &store->memory.pages[stored->page_base + i], now_ns);
		store->memory.pages[stored->page_base + i] = (struct gb_page){0};
	}
	give_pages(store, stored->page_base, stored->page_count, now_ns);
	release_rules(store, stored->rules, stored->rule_count);
	free(stored);
}

int store_add(struct unwind_store *store, const struct unwind_table *table, uint64_t now_ns,
	      struct stored_table **out)
{
	struct stored_table *stored;
	uint32_t i = 0;
	int err;

	stored = calloc(1, sizeof(*stored) + table->rule_count * sizeof(stored->rules[0]));
	if (!stored)
		return -ENOMEM;
	err = take_pages(store, table->page_count, now_ns, &stored->page_base);
	if (err) {
		free(stored);
		return err;
	}
	stored->page_count = table->page_count;
	stored->first_page = table->first_page;
	err = use_rules(store, table, stored);
	for (; !err && i < table->page_count; i++)
		err = put_page(store, table, stored, i, now_ns);
	if (err) {
		take_back(store, stored, i ? i - 1 : 0, now_ns);
		return err;
	}
	store->stats.tables++;
	*out = stored;
	return 0;
}

void store_remove(struct unwind_store *store, struct stored_table *stored, uint64_t now_ns)
{
	if (!stored)
		return;
	store->stats.tables--;
	take_back(store, stored, stored->page_count, now_ns);
}

const struct gb_unwind_rule *store_find(const struct unwind_store *store, uint32_t page,
					uint32_t offset)
{
	const struct gb_page *at = page < GB_MAX_PAGES ? &store->memory.pages[page] : NULL;
	uint32_t low, high;
	const uint32_t *rows;

	if (!at || !at->count)
		return NULL;
	rows = chunk_rows(store, at->chunk);
	low = at->first;
	high = low + at->count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if ((rows[middle] & ((1U << UNWIND_PAGE_BITS) - 1)) <= offset)
			low = middle;
		else
			high = middle;
	}
	return &store->memory.rules[rows[low] >> UNWIND_PAGE_BITS];
}
