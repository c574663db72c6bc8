/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_counters.h - the counters of all processes, which stand behind the threads in a processed profile: columns in
 * spools of a pool that is never empty.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_COUNTERS_H
#define GECKOBPF_FORMAT_PROCESSED_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

struct json;
struct process;
struct processed_counter;
struct profile_point;
struct spool_pool;

/* Zero-initialised is empty. */
struct processed_counters {
	struct {
		struct processed_counter *items;
		size_t count, capacity;
	} all;
	size_t ended; /* so many are of processes that have ended */
};

/* Of the process that has begun. 0, -ENOMEM, -errno of the spool. */
int processed_counters_add(struct processed_counters *counters, const struct profile_point *point,
			   struct spool_pool *pool);
/* The process has ended, whose main thread is `main_thread` in the profile. */
void processed_counters_end(struct processed_counters *counters, const struct process *process,
			    uint32_t main_thread);
void processed_counters_clear(struct processed_counters *counters);
/* "counters", if there are any. 0 or -errno of reading what was spilled. */
int processed_counters_write(struct processed_counters *counters, struct json *json);

#endif
