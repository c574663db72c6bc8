/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drain.h - empties the rings: samples go straight on, events are first put in order of time.
 *
 *   samples ring(s) ──────────────────────────────────> records
 *   control ring, perf side-band ──> pending, by time ──> records
 */
#ifndef GECKOBPF_CAPTURE_DRAIN_H
#define GECKOBPF_CAPTURE_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drain;
struct kernel_side;
struct publisher;
struct records;
struct sideband;

/*
 * All four are borrowed; the publisher is flushed whenever events were applied. `dump_fd` >= 0: every record is also
 * written there as it is, in the order it is applied. 0 or -errno.
 */
int drain_open(struct drain **out, struct kernel_side *kernel, struct sideband *sideband,
	       struct records *records, struct publisher *publisher, int dump_fd);
void drain_close(struct drain *drain);

/* A descriptor that is readable when there is reason to drain. */
int drain_fd(const struct drain *drain);

/*
 * Takes what is in the rings, for less than a tenth of a second or so: then the rest is left for the next time. Events of
 * the last moment stay pending. 0 or -errno.
 */
int drain_run(struct drain *drain);

/* Whether there is more to be taken now. */
bool drain_is_behind(const struct drain *drain);

/* Whether events are pending: run again in DRAIN_PENDING_NS. */
#define DRAIN_PENDING_NS 250000
bool drain_is_pending(const struct drain *drain);

/*
 * Nothing more will come: takes all there is, also what is pending. After `limit_ns` it gives up; what is left is left
 * out and counted. 0 or -errno.
 */
int drain_finish(struct drain *drain, uint64_t limit_ns);

/* What drain_finish() left out; all 0: nothing. */
struct drain_left_out {
	uint64_t samples, events, bytes;
	uint64_t since_ns; /* the earliest of them; some that are later may have been taken */
};

const struct drain_left_out *drain_get_left_out(const struct drain *drain);

/* Lists all threads of all targets into the records (GB_TASK_SEEN). 0 or -errno. */
int drain_list_tasks(struct drain *drain);
/*
 * The same, but they are applied with the other events, when it is drained next: what threads have used is known at a
 * moment, and nothing is waited for until the caller goes on.
 */
int drain_note_tasks(struct drain *drain);

/* The same, and a process that is not among them has ended: its exit was lost. 0 or -errno. */
int drain_call_roll(struct drain *drain);

/* From now on nothing waits for unwind tables, and nothing goes back into the kernel: this process is a forked copy of the one that records. */
void drain_stop_publishing(struct drain *drain);

/* Events that were dropped because memory was out. */
uint64_t drain_lost(const struct drain *drain);

/* Takes in side-band rings of CPUs that came online. 0 or -errno. */
int drain_update(struct drain *drain);

#endif
