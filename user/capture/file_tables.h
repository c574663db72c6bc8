/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_tables.h - the unwind table of every mapped file: compiled once, kept while there is room.
 *
 *   wanted ──compiled──> stored <──> no process maps the file: the first to go, the longest unused one first
 *              └──no room──> waits until room was made, as long as a process maps it; who has too much makes it
 *
 * A second passes between what frees memory and what uses it: see table_store.h.
 */
#ifndef GECKOBPF_CAPTURE_FILE_TABLES_H
#define GECKOBPF_CAPTURE_FILE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "geckobpf_abi.h"
#include "unwind/limits.h"

struct file_tables;
struct object;
struct unwind_memory;
struct table_store;
struct compile_pool;

/* Why a file has no table, besides that it is none with code. */
enum file_table_failure {
	FILE_TABLE_LATE, /* it takes longer than COMPILE_MAX_NS */
	FILE_TABLE_DIED, /* the process that compiled it died */
	FILE_TABLE_BAD, /* or answered nonsense */
	FILE_TABLE_LARGE, /* the table is more than TABLE_IMAGE_MAX_BYTES, or it takes more memory than a parser may have */
	FILE_TABLE_FAILURES
};

struct file_tables_stats {
	uint64_t tables, table_bytes; /* stored now: rows and pages */
	uint64_t compiled; /* so far */
	uint64_t no_table; /* files without unwind information: walked by frame pointers */
	uint64_t no_room; /* files that found none so far, though they may have later */
	uint64_t waiting; /* of them, those that wait now */
	uint64_t evicted; /* tables that made room for others */
	uint64_t displaced; /* of them, those that processes still mapped: table_shares.h */
	uint64_t
		no_room_fixed; /* of those that found no room, which pages or rules were out, that no option adds to */
	/* Files that are beyond a limit of unwind/limits.h, and how much code: walked by frame pointers there. */
	uint64_t skipped_files, skipped_bytes;
	uint64_t
		beyond_limits; /* of these files, those that are more than too much code without unwind information */
	struct {
		char path[96]; /* its last bytes; "": none */
		enum unwind_limit limit;
	} beyond; /* the first of them */
	uint64_t failed[FILE_TABLE_FAILURES];
};

/* `pool`, which is borrowed, compiles. 0 or -errno. */
int file_tables_open(struct file_tables **out, const struct unwind_memory *memory,
		     struct compile_pool *pool);
void file_tables_close(struct file_tables *tables);

/*
 * The file, which was mapped at `mapped_ns`, has its table loaded with the next load, if that was not tried before. `object`
 * is borrowed until file_tables_forget(). 0 or -ENOMEM.
 */
int file_tables_want(struct file_tables *tables, const struct object *object, uint64_t mapped_ns);

/*
 * Has compiled what is wanted, and what waits if there is new room; stores what is done by `until_ns` (0: what is done
 * by now). The others come with a later load. *changed: files that were without a table have one now, or it is not
 * awaited any more, see file_tables_refresh(). 0 or -ENOMEM, with as much done as was possible.
 */
int file_tables_load(struct file_tables *tables, uint64_t now_ns, uint64_t until_ns, bool *changed);

/* One mapping of the file more, or (-1) less. It has been wanted. */
void file_tables_use(struct file_tables *tables, uint32_t object, int change, uint64_t now_ns);

/*
 * Fills in what a mapping says of its file's table: bias, page_offset, flags. `mapping->begin` is where `offset` of the
 * file is mapped. False: no code of the file is there, or it is not known yet: then file_tables_resolve_late().
 */
bool file_tables_resolve(const struct file_tables *tables, uint32_t object, uint64_t offset,
			 struct gb_mapping *mapping);
/* The same later, for a mapping of which only the begin and the end have changed since. */
static inline bool file_tables_resolve_late(const struct file_tables *tables, uint32_t object,
					    struct gb_mapping *mapping)
{
	return file_tables_resolve(tables, object, mapping->begin - mapping->bias, mapping);
}
/* The same when only the table has changed. True: the mapping was changed. */
bool file_tables_refresh(const struct file_tables *tables, uint32_t object,
			 struct gb_mapping *mapping);

/*
 * The object goes, and its table with it; its number may be another's. False: not yet, a process maps it or did a
 * moment ago.
 */
bool file_tables_forget(struct file_tables *tables, uint32_t object, uint64_t now_ns);

/* When a file was wanted last. */
uint64_t file_tables_wanted_ns(const struct file_tables *tables);

/* Whether tables are on their way, which the next load takes in. */
bool file_tables_are_coming(const struct file_tables *tables);

/*
 * Whether a file's first table is on its way, and began to be less than FILE_TABLE_AWAITED_NS ago: stacks had better wait
 * for it (GB_MAPPING_AWAITED).
 */
bool file_tables_is_awaited(const struct file_tables *tables, uint32_t object);
#define FILE_TABLE_AWAITED_NS (800 * NS_PER_MS)
/* A stack waits for it: it goes before others. */
void file_tables_hurry(struct file_tables *tables, uint32_t object);

/* Memory for what is known of files, without the store. */
size_t file_tables_bytes(const struct file_tables *tables);

const struct table_store *file_tables_store(const struct file_tables *tables);
struct file_tables_stats file_tables_get_stats(const struct file_tables *tables);

#endif
