/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_room.h - who makes room for a table that finds none; file_tables.c and file_room.c alone see in here.
 *
 *   no room ──> tables that no process maps, the longest unused first, if all of them suffice
 *          └──> else it waits, and whoever has more than his share of what there is gives a table back: table_shares.h
 */
#ifndef GECKOBPF_CAPTURE_FILE_ROOM_H
#define GECKOBPF_CAPTURE_FILE_ROOM_H

#include "capture/file_tables.h"
#include "capture/table_shares.h"
#include "unwind/table_store.h"

/* What is known of the unwind information of an object. */
struct file_table {
	const struct object *object; /* NULL: it was not wanted */
	bool is_tried;
	bool is_at_work; /* a job of it is on its way */
	bool is_awaited; /* it is, for the first time, and not for long */
	bool waits; /* compiled, but there was no room */
	bool is_displaced; /* it waits behind those that are not */
	uint32_t owner; /* of the file */
	bool is_skipped; /* it is counted in stats.skipped_files: a table may be compiled again */
	struct stored_table *stored; /* NULL: there is none, or it was evicted */
	struct table_store_size size; /* of its table */
	uint32_t flags; /* enum gb_mapping_flag */
	uint32_t users; /* published mappings that point at it */
	uint64_t unused_since_ns, wanted_ns;
	struct unwind_segment *segments; /* where file offsets are in virtual addresses */
	uint32_t segment_count;
};

struct file_tables {
	struct table_store *store;
	struct file_tables_stats stats;
	struct {
		struct file_table *items; /* by object number */
		size_t count, capacity;
	} files;
	struct compile_pool *pool; /* borrowed */
	size_t job_count; /* that are on their way */
	struct {
		size_t count; /* since none was */
		uint64_t since_ns;
	} batch;
	uint64_t wanted_ns; /* when one was wanted last */
	uint64_t
		awaited_until_ns; /* when the first of those that are awaited has taken too long for that; 0: none is */
	struct {
		struct table_holding *items;
		size_t count, capacity;
	} holdings; /* for table_shares_choose() */
	bool has_displaced; /* tables that are mapped have gone: the mappings are to be published again */
	/* When room was made, the first and the last time since those that wait were tried; 0: it was not. */
	uint64_t room_first_ns, room_last_ns;
};

void file_set_waits(struct file_tables *tables, struct file_table *file, bool waits);

/* One more has found no room, and for want of what. */
void file_count_no_room(struct file_tables *tables, const struct file_table *file);

/* Room was made, which may be used a second later. */
void file_room_note(struct file_tables *tables, uint64_t now_ns);
/* Whether those that wait should be tried, once for all that has happened. */
bool file_room_take(struct file_tables *tables, uint64_t now_ns);

/* What the tables hold that may go, since no process maps them. */
struct table_store_size file_room_evictable(const struct file_tables *tables, uint64_t now_ns);
/*
 * Evicts as much as is needed, if all tables that are not in use suffice; at least one, since what was there did not
 * do. True: something has gone, though perhaps in pieces that have yet to be compacted.
 */
bool file_room_make(struct file_tables *tables, const struct table_store_size *size,
		    uint64_t now_ns);

/* For `wanting`, which waits: those who have more than their share give tables back, though they are mapped. */
void file_room_displace(struct file_tables *tables, const struct file_table *wanting,
			uint64_t now_ns);
/* Whether somebody waits who has less than the owner of `file`, so that it must not take what room there is. */
bool file_must_queue(struct file_tables *tables, const struct file_table *file);
/* Whether others wait than those who had to make room. */
bool file_room_is_awaited(const struct file_tables *tables);

#endif
