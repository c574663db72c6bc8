/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch.h - what encoder and decoder both remember from one entry to the next, until an entry
 * restarts the grammar (entry.h).
 *
 * The threads are in a hash table with open addressing, at most half full. A slot holds the number
 * of the epoch in which it was filled, so that the table is emptied by counting the epoch up. It
 * grows and never shrinks. A zero-initialised epoch has to be restarted before use.
 */
#ifndef GECKOBPF_BUFFER_EPOCH_H
#define GECKOBPF_BUFFER_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer/frame.h"
#include "buffer/profile_buffer.h"

/* The values of a thread's last sample. */
struct thread_slot {
	uint32_t thread;
	uint32_t epoch;
	uint64_t time_ns; /* at first that of the sample before, of another thread */
	int64_t wait_us; /* time_ns that was not CPU time, rounded up; at first all of it */
	uint64_t stack_base, far_sp; /* 0 at first */
	uint32_t stack; /* STACK_NODE_NONE at first */
	uint8_t user_end;
	bool is_known; /* it has a last sample */
};

struct thread_table {
	struct thread_slot *slots;
	uint32_t capacity; /* a power of two, or 0 */
	uint32_t count;
	uint32_t epoch; /* 0: never restarted */
};

struct epoch {
	struct thread_table threads;
	uint64_t period_ns;
	struct thread_slot *thread; /* of the sample before; NULL: there was none */
	uint64_t time_ns; /* of the sample before */
	uint64_t value[FRAME_KINDS_MAX]; /* told last, of a frame of that kind */
	uint64_t stack_base, far_sp; /* told last */
	uint64_t counters[ENTRY_COUNTERS]; /* their values, told last */
	uint32_t node_count, frame_count;
};

/* Forgets all. */
void epoch_restart(struct epoch *epoch, uint64_t period_ns);
void epoch_clear(struct epoch *epoch);

/* Makes `thread` the epoch's; it is new if it was not met before. 0 or -ENOMEM. */
int epoch_enter_thread(struct epoch *epoch, uint32_t thread);

/* a / b, rounded up. */
static inline int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

#endif
