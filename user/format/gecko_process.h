/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_process.h - an entry of processes[]: what is kept of its threads while their rows come, and the text of it. */
#ifndef GECKOBPF_FORMAT_GECKO_PROCESS_H
#define GECKOBPF_FORMAT_GECKO_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "format/gecko_counters.h"

struct intern;
struct gecko_thread;
struct json;
struct profile_frame;
struct profile_process;
struct profile_thread;
struct recording_facts;
struct spool_pool;

/* Of a process: the display name of each frame's function. Zero-initialised is empty. */
struct gecko_names {
	struct intern *texts;
	uint32_t *text_of; /* by frame */
	const struct profile_process *process;
};

struct gecko_process {
	const struct profile_process *process;
	struct spool_pool *pool; /* borrowed */
	uint64_t intervals_per_row; /* of long sleeps, see sleep_rows.h */
	struct {
		struct gecko_thread **items;
		size_t count, capacity;
	} threads; /* in the order in which they began */
	struct gecko_counters counters;
	const struct recording_facts *overhead; /* whose overhead it tells; NULL: another does */
};

/* 0 or -ENOMEM. */
int gecko_process_open(struct gecko_process **out, const struct profile_process *process,
		       uint64_t intervals_per_row, struct spool_pool *pool);
/* NULL is fine. */
void gecko_process_close(struct gecko_process *process);

/* thread->of_sink becomes its struct gecko_thread. 0 or -ENOMEM. */
int gecko_process_add_thread(struct gecko_process *process, struct profile_thread *thread);

/* Bytes of rows so far: all that has a size worth mentioning. */
uint64_t gecko_process_row_bytes(const struct gecko_process *process);

/* 0, -ENOMEM, -errno of the spool, or json's error. */
int gecko_process_write(struct gecko_process *process, struct json *json);

#endif
