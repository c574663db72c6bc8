/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expire.h - forgets what no profile will show any more, so that a recording of weeks does not grow.
 *
 *                     always                                   if memory is short, also
 *   process           it ended before the horizon              it ended, and none of its samples can be read
 *   thread            the same, but for the first of its       it ended, and never had a sample
 *                     process, which names that
 *   mapping           others cover it since before the horizon
 *   object            no mapping refers to it
 *
 * The horizon is where profiles begin: what was before is in none of them, though buffers may hold samples of it still,
 * and these may name a thread whose number is another's by now. A sample that is later than the end of its thread
 * counts as the end. What went may be asked for all the same, by a record that names a thread: it is made anew, as
 * itself, for names are complete.
 */
#ifndef GECKOBPF_RECORDING_EXPIRE_H
#define GECKOBPF_RECORDING_EXPIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space;
struct object;
struct objects;
struct process;
struct processes;

struct expire_horizon {
	/*
	 * All records of what was before have been applied: at least some seconds ago. Nothing goes that ended later.
	 */
	uint64_t settled_ns;
	/* Samples up to then are in no profile any more; 0: all are. Never falls. */
	uint64_t hidden_ns;
	bool is_pressed; /* memory is short */
};

struct expire_counts {
	uint64_t processes, threads, mappings, objects;
	uint64_t samples; /* that were put into the buffers of these processes */
};

/* The owner of tables that are indexed by numbers of processes and objects. All but `context` may be NULL. */
struct expire_keeper {
	/* False: not yet. True: what was kept of it is gone, its number may be another's. */
	bool (*forgets_process)(void *context, struct process *process);
	bool (*forgets_object)(void *context, const struct object *object);
	void *context;
};

struct expire_tables {
	struct processes *processes;
	struct objects *objects;
	struct expire_keeper keeper;
	uint64_t round; /* address_space_round(), for each run */
};

/* Marks the objects of address spaces that are not those of processes, before every expire_run() and in its round. */
void expire_mark(struct address_space *space, uint64_t round);

/*
 * Adds what went to *counts. Never fails: what cannot go now goes the next time. Closes the buffers of processes that
 * go.
 */
void expire_run(const struct expire_tables *tables, const struct expire_horizon *horizon,
		struct expire_counts *counts);

#endif
