/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.h - gives the unwinder in the kernel what it needs: a table for every mapped file, and the mappings of every
 * process.
 *
 *   address space ──> sorted, nothing overlaps ──> a run in `mappings` ──> process_maps[tgid], by one update
 *   object ──> file_tables.h, once per file however many processes map it
 */
#ifndef GECKOBPF_CAPTURE_PUBLISH_H
#define GECKOBPF_CAPTURE_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "capture/file_tables.h"

struct gb_sample;
struct kernel_side;
struct object;
struct process;
struct compile_pool;
struct patience;
struct publisher;

struct publisher_stats {
	struct file_tables_stats files;
	uint64_t processes_no_room; /* that found the maps full */
};

/* `max_bytes`: of kernel memory for rows. `kernel`, `pool` and `patience`, with the pool, are borrowed. 0 or -errno. */
int publisher_open(struct publisher **out, struct kernel_side *kernel, uint64_t max_bytes,
		   struct compile_pool *pool, struct patience *patience);
void publisher_close(struct publisher *publisher);

/*
 * `process`, which is borrowed: its mappings may have changed; or it has ended (died_ns is set). Takes effect with the
 * next flush. 0 or -ENOMEM.
 */
int publisher_note(struct publisher *publisher, struct process *process);

/*
 * Publishes all that was noted, with the tables that there are by now, or (`may_wait`) are PUBLISHER_WAIT_NS after a file
 * was mapped if there is patience. Those that come later are published with a later flush, PUBLISHER_SLICE_NS after
 * others at the earliest. 0 or -ENOMEM.
 */
int publisher_flush(struct publisher *publisher, bool may_wait);
#define PUBLISHER_WAIT_NS (5 * NS_PER_MS) /* those of most files are there by then */
#define PUBLISHER_SLICE_NS (20 * NS_PER_MS)
/* The same with all tables that come in `limit_ns`, for which it waits. */
int publisher_settle(struct publisher *publisher, uint64_t limit_ns);
/* Whether there will be something to publish though nothing is noted: flush again in PUBLISHER_AWAITS_NS. */
bool publisher_awaits(const struct publisher *publisher);
#define PUBLISHER_AWAITS_NS 2000000

/*
 * Makes an ordinary sample of a raw one (GB_RECORD_RAW, checked by the caller) by what is published of its process.
 * `out` has room for sizeof(struct gb_sample) and GB_MAX_KERNEL_FRAMES + GB_MAX_USER_WORDS words. False: a table is on its
 * way that would make a better one; *awaited is the number of its file, which goes before others from now on.
 */
bool publisher_unwind(struct publisher *publisher, const struct process *process,
		      const struct gb_sample *raw, struct gb_sample *out, uint32_t *awaited);
/* Whether to try that again would be in vain: what it waited for has not come. */
bool publisher_is_awaited(const struct publisher *publisher, uint32_t file);

/*
 * The process, which has ended, is about to be forgotten, and its number may be another's. False: not yet, something of
 * it is still needed; it will not be for long.
 */
bool publisher_forget_process(struct publisher *publisher, struct process *process);
/* The same for a file that no process maps. Its table goes. */
bool publisher_forget_object(struct publisher *publisher, const struct object *object);

/* Memory for processes and files, without the tables, which have a limit of their own. Looks at each of them. */
size_t publisher_bytes(const struct publisher *publisher);

struct publisher_stats publisher_get_stats(const struct publisher *publisher);

#endif
