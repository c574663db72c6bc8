/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_process.h - a process on its way into a processed profile: its frames and stacks become rows of the tables
 * that all share, its threads become columns.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_PROCESS_H
#define GECKOBPF_FORMAT_PROCESSED_PROCESS_H

#include <stddef.h>
#include <stdint.h>

struct json;
struct marker_text;
struct processed_code;
struct processed_process;
struct processed_stacks;
struct profile_marker;
struct profile_process;
struct profile_row;
struct profile_thread;
struct spool_pool;

/* All is borrowed. */
struct processed_tables {
	struct processed_code *code;
	struct processed_stacks *stacks;
	struct spool_pool *pool; /* for the columns of threads */
	struct marker_text *marker_text;
};

/* 0 or -ENOMEM. NULL is fine for close. */
int processed_process_open(struct processed_process **out, struct profile_process *process,
			   const struct processed_tables *tables);
void processed_process_close(struct processed_process *process);

/* The first is before the others, for the same thread. 0, -ENOMEM, -E2BIG: too many stacks; -errno of the spool. */
int processed_process_thread(struct processed_process *process, struct profile_thread *thread);
int processed_process_row(struct processed_process *process, struct profile_thread *thread,
			  const struct profile_row *row);
int processed_process_marker(struct processed_process *process, struct profile_thread *thread,
			     const struct profile_marker *marker);

/* Bytes of its threads' columns: all that has a size worth mentioning. */
uint64_t processed_process_bytes(const struct processed_process *process);
/* CPU time in all rows of a thread. */
uint64_t processed_process_cpu_ns(const struct profile_thread *thread);
/* Writes an item of "threads". 0, -errno of reading what was spilled, or json's error. */
int processed_process_write_thread(const struct profile_thread *thread, struct json *json);

#endif
