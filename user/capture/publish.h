/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.h - gives the unwinder in the kernel what it needs: a table for every mapped file, and the mappings of every process.
 *
 *   address space ──> sorted, nothing overlaps ──> a run in `mappings` ──> process_maps[tgid], by one update
 *   object ──> unwind_table_compile() ──> store, once per file however many processes map it
 */
#ifndef GECKOBPF_CAPTURE_PUBLISH_H
#define GECKOBPF_CAPTURE_PUBLISH_H

#include <stdint.h>

struct gb_sample;
struct kernel_side;
struct objects;
struct process;
struct publisher;

struct publisher_stats {
	uint64_t tables; /* files with a table in the kernel */
	uint64_t table_bytes; /* rows and pages */
	uint64_t compile_ns; /* time spent on compiling them */
	uint64_t no_table; /* files walked by frame pointers, for they have no unwind information */
	uint64_t no_room; /* files and processes that found the maps full */
	uint64_t evicted; /* tables that made room for others */
};

/* `max_bytes`: of kernel memory for rows. All is borrowed. 0 or -errno. */
int publisher_open(struct publisher **out, struct kernel_side *kernel, struct objects *objects,
		   uint64_t max_bytes);
void publisher_close(struct publisher *publisher);

/* The process's mappings may have changed; or it has ended (died_ns is set). Takes effect with the next flush. 0 or -ENOMEM. */
int publisher_note(struct publisher *publisher, struct process *process);

/* Publishes all that was noted. 0 or -ENOMEM. */
int publisher_flush(struct publisher *publisher);

/*
 * Makes an ordinary sample of a raw one (GB_RECORD_RAW, checked by the caller) by what is published of its process. `out`
 * has room for sizeof(struct gb_sample) and GB_MAX_KERNEL_FRAMES + GB_MAX_USER_WORDS words.
 */
void publisher_unwind(struct publisher *publisher, const struct process *process,
		      const struct gb_sample *raw, struct gb_sample *out);

struct publisher_stats publisher_get_stats(const struct publisher *publisher);

#endif
