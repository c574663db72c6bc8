/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_thread.h - one thread of a Gecko profile: its rows, and the stacks that it meets, as they come.
 *
 * A row is [stack,time,0,delta]: time in ms, delta the CPU time in ns since the row before. Two without a stack stand
 * where the thread began to sleep, and where it came back. Stacks and frames have numbers of the thread's own, in order
 * of first use.
 */
#ifndef GECKOBPF_FORMAT_GECKO_THREAD_H
#define GECKOBPF_FORMAT_GECKO_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id_map.h"
#include "format/gecko_markers.h"
#include "profile/stacks.h"

struct gecko_names;
struct json;
struct profile_row;
struct profile_thread;
struct spool;
struct spool_pool;

/* gecko_tables.c reads it. */
struct gecko_thread {
	struct stacks_user user; /* has the rows' numbers by stack */
	const struct profile_thread *thread;
	struct spool *rows; /* of the table of samples: "[...],[...]" */
	struct spool *stack_rows; /* the same, of the table of stacks */
	bool has_rows;
	bool is_drawn; /* the last of them has a stack */
	uint64_t time_ns; /* of the last row of the profile */
	uint64_t intervals_per_row; /* of long sleeps */
	uint64_t intervals_left; /* of these, those that are in no row so far */
	uint32_t stack_count;
	struct gecko_markers markers;
	struct id_map frame_ids; /* by frame of the process */
	struct {
		uint32_t *items; /* frames of the process, by number */
		size_t count, capacity;
	} frames;
};

/* 0 or -ENOMEM. */
int gecko_thread_open(struct gecko_thread **out, const struct profile_thread *thread,
		      uint64_t intervals_per_row, struct spool_pool *pool);
void gecko_thread_close(struct gecko_thread *thread);

/* 0, -ENOMEM, -errno of the spool. */
int gecko_thread_add(struct gecko_thread *thread, const struct profile_row *row);

/* Bytes of rows of all its tables. */
uint64_t gecko_thread_bytes(const struct gecko_thread *thread);

/*
 * Writes the members samples, markers, frameTable, stackTable and stringTable of an object that
 * is open. 0, -ENOMEM, -errno of the spool, or json's error.
 */
int gecko_thread_write_tables(struct gecko_thread *thread, const struct gecko_names *names,
			      struct json *json);

#endif
