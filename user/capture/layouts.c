/* SPDX-License-Identifier: BSD-2-Clause */
/* layouts.c - see layouts.h. */
#include "capture/layouts.h"

#include "base/array.h"
#include "base/clock.h"
#include "capture/file_tables.h"
#include "capture/mapping_runs.h"
#include "target/address_space.h"
#include "target/object.h"

#include <errno.h>
#include <stdlib.h>

#define RECENT                                                                                     \
	1024 /* layouts are found again by the addresses of trees, if nothing took their places */
#define SMALL 64 /* so few mappings are laid out whenever they change */
#define MEDIUM 1024 /* so few the first time, however busy we are */
/* Of larger ones, a second: a quarter of the array, which costs some milliseconds. */
#define MAPPINGS_PER_S 65536

struct layout_item {
	uint32_t object;
	bool has_code; /* of a file that has unwind information: its table may come and go */
};

struct layout {
	struct address_space space; /* as it was */
	struct mapping_run run;
	uint32_t count, generation;
	size_t holders;
	uint32_t refreshed; /* the round in which it was looked at */
	struct layout *heir; /* in that round; held by nobody on its account */
	struct layout_item items[];
};

struct layouts {
	struct gb_mapping *mappings;
	struct file_tables *files;
	struct mapping_runs runs;
	struct layout *recent[RECENT];
	size_t bytes;
	uint32_t generation; /* of the one that was made last */
	uint32_t round;
	/* What may be made of large ones; below 0 after one that was larger than the rest. */
	int64_t allowance;
	uint64_t allowed_ns;
};

int layouts_open(struct layouts **out, struct gb_mapping *mappings, struct file_tables *files)
{
	struct layouts *layouts = calloc(1, sizeof(*layouts));

	if (!layouts)
		return -ENOMEM;
	layouts->mappings = mappings;
	layouts->files = files;
	layouts->allowance = MAPPINGS_PER_S;
	*out = layouts;
	return 0;
}

void layouts_close(struct layouts *layouts)
{
	if (!layouts)
		return;
	mapping_runs_close(&layouts->runs);
	free(layouts);
}

/* ---- the budget ------------------------------------------------------------------- */

static void allow_more(struct layouts *layouts, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - layouts->allowed_ns;

	if (passed_ns > NS_PER_SEC)
		passed_ns = NS_PER_SEC;
	if (passed_ns < NS_PER_SEC / 1000)
		return; /* later, with less rounding */
	layouts->allowed_ns = now_ns;
	layouts->allowance += (int64_t)(passed_ns * MAPPINGS_PER_S / NS_PER_SEC);
	if (layouts->allowance > MAPPINGS_PER_S)
		layouts->allowance = MAPPINGS_PER_S;
}

bool layouts_may_make(struct layouts *layouts, const struct address_space *space, bool is_first,
		      uint64_t now_ns)
{
	allow_more(layouts, now_ns);
	return space->count <= SMALL || (is_first && space->count <= MEDIUM) ||
	       layouts->allowance > 0;
}

/* ---- finding those that there are ----------------------------------------------------- */

static struct layout **place_of(struct layouts *layouts, const struct address_space *space)
{
	const uint64_t mixed = (uint64_t)(uintptr_t)space->root * 0x9e3779b97f4a7c15u;

	return &layouts->recent[mixed >> 32 & (RECENT - 1)];
}

bool layout_is_of(const struct layout *layout, const struct address_space *space)
{
	return layout && layout->space.root == space->root;
}

struct gb_process_map layout_place(const struct layout *layout)
{
	return (struct gb_process_map){.first = layout->run.first,
				       .count = layout->count,
				       .generation = layout->generation};
}

const struct gb_mapping *layout_mappings(const struct layouts *layouts, const struct layout *layout)
{
	return layouts->mappings + layout->run.first;
}

uint32_t layout_object(const struct layouts *layouts, const struct layout *layout,
		       const struct gb_mapping *mapping)
{
	return layout->items[mapping - layout_mappings(layouts, layout)].object;
}

size_t layouts_bytes(const struct layouts *layouts)
{
	return layouts->bytes + sizeof(*layouts);
}

/* ---- making, dropping ------------------------------------------------------------------ */

static size_t bytes_of(size_t count)
{
	return sizeof(struct layout) + count * sizeof(struct layout_item);
}

static int new_layout(struct layouts *layouts, const struct address_space *space, size_t count,
		      uint64_t now_ns, struct layout **out)
{
	struct layout *layout = calloc(1, bytes_of(count));
	int err;

	if (!layout)
		return -ENOMEM;
	err = mapping_runs_take(&layouts->runs, count, now_ns, &layout->run);
	if (!err)
		err = address_space_inherit(&layout->space, space, UINT64_MAX);
	if (err) {
		free(layout);
		return err;
	}
	if (!++layouts->generation)
		layouts->generation = 1; /* 0: no set of mappings has it */
	layout->generation = layouts->generation;
	layout->count = (uint32_t)count;
	layout->holders = 1;
	layouts->bytes += bytes_of(count);
	*place_of(layouts, space) = layout;
	*out = layout;
	return 0;
}

static void free_layout(struct layouts *layouts, struct layout *layout, uint64_t now_ns)
{
	struct layout **place = place_of(layouts, &layout->space);
	uint32_t i;

	for (i = 0; i < layout->count; i++)
		file_tables_use(layouts->files, layout->items[i].object, -1, now_ns);
	mapping_runs_give(&layouts->runs, &layout->run, now_ns);
	if (*place == layout)
		*place = NULL;
	layouts->bytes -= bytes_of(layout->count);
	address_space_clear(&layout->space);
	free(layout);
}

void layouts_drop(struct layouts *layouts, struct layout *layout, uint64_t now_ns)
{
	if (layout && !--layout->holders)
		free_layout(layouts, layout, now_ns);
}

/* The vsyscall page is the kernel's, and the search compares as signed numbers. */
static bool is_searched(const struct mapping *mapping)
{
	return mapping->end <= INT64_MAX;
}

static int count_mapping(void *context, const struct mapping *mapping)
{
	*(size_t *)context += is_searched(mapping);
	return 0;
}

struct filling {
	struct layouts *layouts;
	struct layout *layout;
	uint32_t count;
	uint64_t now_ns;
};

static int fill_in(void *context, const struct mapping *mapping)
{
	struct filling *filling = context;
	struct layouts *layouts = filling->layouts;
	struct layout_item *item = &filling->layout->items[filling->count];
	struct gb_mapping laid = {.begin = mapping->start, .end = mapping->end};

	if (!is_searched(mapping))
		return 0;
	item->object = mapping->object->number;
	item->has_code = file_tables_resolve(layouts->files, item->object, mapping->offset, &laid);
	layouts->mappings[filling->layout->run.first + filling->count++] = laid;
	file_tables_use(layouts->files, item->object, 1, filling->now_ns);
	return 0;
}

int layouts_get(struct layouts *layouts, const struct address_space *space, uint64_t now_ns,
		struct layout **out)
{
	struct layout *known = *place_of(layouts, space);
	struct filling filling = {.layouts = layouts, .now_ns = now_ns};
	size_t count = 0;
	int err;

	if (layout_is_of(known, space)) {
		known->holders++;
		*out = known;
		return 0;
	}
	(void)address_space_now(space, count_mapping, &count);
	if (count > SMALL)
		layouts->allowance -= (int64_t)count; /* in vain, too: it took its time */
	err = new_layout(layouts, space, count, now_ns, &filling.layout);
	if (err)
		return err;
	(void)address_space_now(space, fill_in, &filling);
	*out = filling.layout;
	return 0;
}

/* ---- tables that came later -------------------------------------------------------------- */

void layouts_begin_refresh(struct layouts *layouts)
{
	layouts->round++;
}

/* Whether there is a table of the file by now, it is known where its code is, or nothing is awaited any more. */
static bool is_item_behind(const struct layouts *layouts, const struct layout_item *item,
			   struct gb_mapping mapping)
{
	const uint32_t flags = mapping.flags;

	if (item->has_code)
		return file_tables_refresh(layouts->files, item->object, &mapping);
	return file_tables_resolve_late(layouts->files, item->object, &mapping) ||
	       mapping.flags != flags;
}

static bool is_behind(const struct layouts *layouts, const struct layout *layout)
{
	uint32_t i;

	for (i = 0; i < layout->count; i++)
		if (is_item_behind(layouts, &layout->items[i],
				   layouts->mappings[layout->run.first + i]))
			return true;
	return false;
}

/* What lies where the tables of `layout` were is about to be others': they are not to be looked at any more. */
static void forget_gone(struct layouts *layouts, const struct layout *layout)
{
	uint32_t i;

	for (i = 0; i < layout->count; i++) {
		struct gb_mapping *place = &layouts->mappings[layout->run.first + i];
		struct gb_mapping mapping = *place;

		if (layout->items[i].has_code && !(mapping.flags & GB_MAPPING_NO_TABLE) &&
		    file_tables_refresh(layouts->files, layout->items[i].object, &mapping))
			__atomic_store_n(&place->flags, mapping.flags, __ATOMIC_RELAXED);
	}
}

bool layouts_refresh(struct layouts *layouts, struct layout **layout, uint64_t now_ns)
{
	struct layout *old = *layout, **place = place_of(layouts, &old->space);
	struct layout *fresh = NULL;

	if (old->refreshed != layouts->round) {
		old->refreshed = layouts->round;
		old->heir = NULL;
		if (is_behind(layouts, old)) {
			*place = NULL; /* what is found from now on is the new one */
			if (layouts_get(layouts, &old->space, now_ns, &fresh)) {
				forget_gone(layouts, old);
				return false;
			}
			fresh->refreshed = layouts->round;
			old->heir = fresh;
		}
	} else if (old->heir) {
		fresh = old->heir;
		fresh->holders++;
	}
	if (!fresh)
		return false;
	layouts_drop(layouts, old, now_ns);
	*layout = fresh;
	return true;
}
