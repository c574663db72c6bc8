/* SPDX-License-Identifier: BSD-2-Clause */
/* file_room.c - see file_room.h. */
#include "capture/file_room.h"

#include "base/array.h"
#include "base/log.h"
#include "target/object.h"

#define QUEUE_LOOKS 16 /* at those that wait: there may be thousands */

/* ---- room ----------------------------------------------------------------------------- */

void file_room_note(struct file_tables *tables, uint64_t now_ns)
{
	if (!tables->room_first_ns)
		tables->room_first_ns = now_ns;
	tables->room_last_ns = now_ns;
}

bool file_room_take(struct file_tables *tables, uint64_t now_ns)
{
	if (!tables->stats.waiting || !tables->room_first_ns ||
	    !table_store_grace_is_over(tables->room_first_ns, now_ns))
		return false;
	if (table_store_grace_is_over(tables->room_last_ns, now_ns))
		tables->room_first_ns = 0;
	else
		tables->room_first_ns = tables->room_last_ns;
	return true;
}

static bool may_evict(const struct file_table *file, uint64_t now_ns)
{
	return file->stored && !file->users &&
	       table_store_grace_is_over(file->unused_since_ns, now_ns);
}

struct table_store_size file_room_evictable(const struct file_tables *tables, uint64_t now_ns)
{
	struct table_store_size sum = {0};
	size_t i;

	for (i = 0; i < tables->files.count; i++) {
		const struct file_table *file = &tables->files.items[i];

		if (!may_evict(file, now_ns))
			continue;
		sum.rows += file->size.rows;
		sum.pages += file->size.pages;
		sum.rules += file->size.rules;
	}
	return sum;
}

/* The table that no process has mapped for the longest time goes. False: all are in use. */
static bool evict_one(struct file_tables *tables, uint64_t now_ns)
{
	struct file_table *oldest = NULL;
	size_t i;

	for (i = 0; i < tables->files.count; i++) {
		struct file_table *file = &tables->files.items[i];

		if (may_evict(file, now_ns) &&
		    (!oldest || file->unused_since_ns < oldest->unused_since_ns))
			oldest = file;
	}
	if (!oldest)
		return false;
	/* its grace is over */
	table_store_remove(tables->store, oldest->stored, oldest->unused_since_ns);
	oldest->stored = NULL;
	oldest->is_tried = false; /* a process that maps it again gets a new one */
	tables->stats.evicted++;
	return true;
}

bool file_room_make(struct file_tables *tables, const struct table_store_size *size,
		    uint64_t now_ns)
{
	const struct table_store_size all = file_room_evictable(tables, now_ns), none = {0};

	if (!table_store_could_hold(tables->store, size, &all) || !evict_one(tables, now_ns))
		return false;
	while (!table_store_could_hold(tables->store, size, &none) && evict_one(tables, now_ns))
		;
	file_room_note(tables, now_ns);
	return true;
}

void file_set_waits(struct file_tables *tables, struct file_table *file, bool waits)
{
	tables->stats.waiting += waits;
	tables->stats.waiting -= file->waits;
	file->waits = waits;
	file->is_displaced = file->is_displaced && waits;
}

void file_count_no_room(struct file_tables *tables, const struct file_table *file)
{
	struct table_store_size rows = {.rows = file->size.rows}, none = {0};

	tables->stats.no_room++;
	tables->stats.no_room_fixed += table_store_could_hold(tables->store, &rows, &none);
}

/* ---- shares --------------------------------------------------------------------------- */

static struct table_holding holding_of(const struct file_table *file)
{
	return (struct table_holding){.owner = file->owner,
				      .users = file->users,
				      .tag = file->object->number,
				      .size = file->size};
}

/* What tables hold now. 0 or -ENOMEM. */
static int list_holdings(struct file_tables *tables)
{
	size_t i;
	int err = 0;

	tables->holdings.count = 0;
	for (i = 0; i < tables->files.count && !err; i++) {
		struct file_table *file = &tables->files.items[i];

		if (!file->stored)
			continue;
		file->size = table_store_holds(tables->store, file->stored);
		err = ARRAY_ROOM(&tables->holdings);
		if (!err)
			tables->holdings.items[tables->holdings.count++] = holding_of(file);
	}
	return err;
}

/* The table of whoever has more than his share goes, though it is mapped. False: nobody has. */
static bool displace_one(struct file_tables *tables, const struct file_table *wanting,
			 uint64_t now_ns)
{
	const struct table_store_size limits = table_store_limits(tables->store);
	const struct table_holding wanted = holding_of(wanting), *chosen;
	struct file_table *file;

	if (list_holdings(tables))
		return false;
	chosen = table_shares_choose(tables->holdings.items, tables->holdings.count, &wanted,
				     &limits);
	if (!chosen)
		return false;
	file = &tables->files.items[chosen->tag];
	log_debug("unwind tables: that of %s goes, for its owner (uid %u) has more than others",
		  file->object->path, file->owner);
	table_store_remove(tables->store, file->stored, now_ns);
	file->stored = NULL;
	file_set_waits(tables, file, true);
	file->is_displaced = true;
	tables->has_displaced = true;
	tables->stats.evicted++;
	tables->stats.displaced++;
	file_count_no_room(tables, wanting);
	return true;
}

void file_room_displace(struct file_tables *tables, const struct file_table *wanting,
			uint64_t now_ns)
{
	const struct table_store_size none = {0};

	while (!table_store_could_hold(tables->store, &wanting->size, &none) &&
	       displace_one(tables, wanting, now_ns))
		file_room_note(tables, now_ns);
}

/* Whether `other`, which waits, would be made room for by the owner of `file`, of whose holdings that is one. */
static bool is_owed(struct file_tables *tables, const struct file_table *file,
		    const struct file_table *other)
{
	const struct table_store_size limits = table_store_limits(tables->store);
	const struct table_holding wanted = holding_of(other), *chosen;

	chosen = table_shares_choose(tables->holdings.items, tables->holdings.count, &wanted,
				     &limits);
	return chosen && chosen->owner == file->owner;
}

bool file_must_queue(struct file_tables *tables, const struct file_table *file)
{
	unsigned int left = QUEUE_LOOKS;
	size_t i;

	if (!tables->stats.waiting || file->owner == 0 || list_holdings(tables) ||
	    ARRAY_ROOM(&tables->holdings))
		return false;
	tables->holdings.items[tables->holdings.count++] = holding_of(file);
	for (i = 0; i < tables->files.count && left; i++) {
		const struct file_table *other = &tables->files.items[i];

		if (!other->waits || other->is_displaced || other->owner == file->owner)
			continue;
		left--;
		if (is_owed(tables, file, other))
			return true;
	}
	return false;
}

bool file_room_is_awaited(const struct file_tables *tables)
{
	size_t i;

	for (i = 0; i < tables->files.count; i++)
		if (tables->files.items[i].waits && !tables->files.items[i].is_displaced)
			return true;
	return false;
}
