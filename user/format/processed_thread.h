/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_thread.h - one thread's rows as columns.
 *
 *   stack           the row in the table of stacks, or null
 *   timeDeltas      ms since the row before; of the first one since the profile's time 0
 *   threadCPUDelta  ns of CPU time since the row before
 *   weight          only if a row of the thread that has a stack does not weigh 1
 *
 * Where the thread slept, a row without a stack stands at its begin, and one with the stack that it was found in, which
 * weighs nothing, where it came back.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_THREAD_H
#define GECKOBPF_FORMAT_PROCESSED_THREAD_H

#include <stdint.h>

struct json;
struct marker_text;
struct processed_thread;
struct profile_marker;
struct profile_row;
struct profile_thread;
struct spool_pool;

/* `pool` is borrowed. 0 or -ENOMEM. NULL is fine for close. */
int processed_thread_open(struct processed_thread **out, struct spool_pool *pool);
void processed_thread_close(struct processed_thread *thread);

/* Adds a row; `stack`: of the table of stacks, PROCESSED_NONE: none, or that of the row before. 0 or -errno of the spool. */
int processed_thread_row(struct processed_thread *thread, const struct profile_row *row,
			 uint32_t stack);
/* `name`: the number of the shared string. 0, -ENOMEM, -errno of the spool. */
int processed_thread_marker(struct processed_thread *thread, const struct profile_marker *marker,
			    uint32_t name, struct marker_text *text);
/* CPU time in all rows. */
uint64_t processed_thread_cpu_ns(const struct processed_thread *thread);

/* Bytes of all columns. */
uint64_t processed_thread_bytes(const struct processed_thread *thread);
/* The value of "samples". 0, or -errno of reading what was spilled. */
int processed_thread_write(struct processed_thread *thread, struct json *json);
/* The member "markers"; errors as above. */
int processed_thread_write_markers(struct processed_thread *thread, struct json *json);

#endif
