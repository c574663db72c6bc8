/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expire.h - forgets what nobody can ask for any more, so that a recording of weeks does not grow.
 *
 *   process           ended before the horizon, and its buffer holds nothing that can be read
 *   thread            the same: no entry that can be read names it; but for the first of a process, which names it
 *   mapping           others cover it since before the oldest entry of its process
 *   object            no mapping refers to it
 *
 * The horizon is as old as what the buffer overwrites now. What went may be asked for all the same, by a record that names a
 * thread: it is made anew, as itself, for names are complete.
 */
#ifndef GECKOBPF_CAPTURE_EXPIRE_H
#define GECKOBPF_CAPTURE_EXPIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space;
struct object;
struct objects;
struct process;
struct processes;

struct expire_horizon {
	/* All records of what was before have been applied: at least some seconds ago. Nothing goes that ended later. */
	uint64_t settled_ns;
	/* Processes that ended before go with the samples that can be read; 0: those samples stay. */
	uint64_t samples_ns;
	/* Memory is short: who ended need not be as old as what the buffer has overwritten. */
	bool is_pressed;
};

struct expire_counts {
	/* The buffer has overwritten what was recorded up to then, but for started chunks; 0: nothing. */
	uint64_t overwritten_ns;
	uint64_t processes, threads, mappings, objects;
	uint64_t samples; /* that the buffers of these processes once held */
};

/* Who keeps things by the numbers of processes and objects. All but `context` may be NULL. */
struct expire_keeper {
	/* False: not yet. True: what was kept of it is gone, its number may be another's. */
	bool (*forgets_process)(void *context, struct process *process);
	bool (*forgets_object)(void *context, const struct object *object);
	/* The mapping at `index` of the process's address space went; those behind it move down. */
	void (*dropped_mapping)(void *context, const struct process *process, size_t index);
	void *context;
};

struct expire_tables {
	struct processes *processes;
	struct objects *objects;
	struct expire_keeper keeper;
};

/* Marks the objects of address spaces that are not those of processes, before every expire_run(). */
void expire_mark(const struct address_space *space);

/* Adds what went to *counts. Never fails: what cannot go now goes the next time. Closes the buffers of processes that go. */
void expire_run(const struct expire_tables *tables, const struct expire_horizon *horizon,
		struct expire_counts *counts);

#endif
