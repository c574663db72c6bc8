/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expire.c - see expire.h.
 *
 * The age of the oldest entry of a buffer is followed by a mark: so many entries were in it at such a time. When all of them have
 * made room for others, what is left is not older, and the next mark is made. It lags, but costs nothing.
 */
#include "capture/expire.h"

#include "buffer/profile_buffer.h"
#include "target/object.h"
#include "target/process.h"

struct run {
	const struct expire_tables *tables;
	const struct expire_horizon *horizon;
	struct expire_counts *counts;
	uint64_t ended_ns; /* who ended before may go */
	const struct process *process; /* whose threads or mappings are looked at */
	uint64_t cleared; /* entries of its buffer that are gone */
};

/* ---- buffers -------------------------------------------------------------------- */

static uint64_t cleared_entries(const struct process *process)
{
	return process->buffer ? profile_buffer_get_state(process->buffer).cleared : 0;
}

/* No entry that can be read is older than this. */
static uint64_t oldest_entry_ns(const struct process *process, uint64_t settled_ns)
{
	if (cleared_entries(process) >= process->entry_count)
		return settled_ns;
	return process->readable.oldest_ns;
}

/*
 * Follows how old the entries of a process are. Returns up to when they have been overwritten; and then those of all processes have, since
 * the oldest chunk goes first.
 */
static uint64_t follow_buffer(struct process *process, uint64_t settled_ns)
{
	uint64_t cleared = cleared_entries(process);

	if (cleared >= process->entry_count)
		return cleared ? process->died_ns : 0;
	if (cleared >= process->readable.mark) {
		process->readable.oldest_ns = process->readable.mark_ns;
		process->readable.mark = process->entry_count;
		process->readable.mark_ns = settled_ns;
	}
	return process->readable.oldest_ns;
}

/* Before what processes and threads may go. */
static uint64_t find_horizon(const struct expire_tables *tables,
			     const struct expire_horizon *horizon, struct expire_counts *counts)
{
	uint64_t ended_ns;
	size_t i;

	for (i = 0; i < processes_count(tables->processes); i++) {
		uint64_t until_ns =
			follow_buffer(processes_at(tables->processes, i), horizon->settled_ns);

		if (until_ns > counts->overwritten_ns)
			counts->overwritten_ns = until_ns;
	}
	ended_ns = counts->overwritten_ns > horizon->samples_ns ? counts->overwritten_ns
								: horizon->samples_ns;
	return horizon->is_pressed || ended_ns > horizon->settled_ns ? horizon->settled_ns
								     : ended_ns;
}

/* ---- processes -------------------------------------------------------------------- */

/* The user asked for this process: the profile shows it, though it may be empty. */
static bool is_asked_for(const struct processes *processes, const struct process *process)
{
	return process->is_root && processes_latest(processes, process->tgid) == process;
}

static bool process_goes(void *context, struct process *process)
{
	const struct run *run = context;
	const struct expire_keeper *keeper = &run->tables->keeper;
	uint64_t left = process->entry_count - cleared_entries(process);

	if (!process->died_ns || process->died_ns >= run->ended_ns ||
	    (left && process->died_ns >= run->horizon->samples_ns) ||
	    is_asked_for(run->tables->processes, process))
		return false;
	if (keeper->forgets_process && !keeper->forgets_process(keeper->context, process))
		return false;
	run->counts->samples += process->entry_count;
	run->counts->threads += process->threads.count;
	run->counts->mappings += process->space.count;
	profile_buffer_close(process->buffer);
	process->buffer = NULL;
	return true;
}

/* ---- threads ---------------------------------------------------------------------- */

static bool thread_goes(void *context, const struct thread *thread)
{
	const struct run *run = context;
	uint64_t died_ns = thread->died_ns ? thread->died_ns : thread->process->died_ns;

	return died_ns && died_ns < run->ended_ns && thread->last_entry <= run->cleared &&
	       thread->tid != thread->process->tgid;
}

/* ---- mappings --------------------------------------------------------------------- */

static void tell_dropped(void *context, size_t index)
{
	const struct run *run = context;
	const struct expire_keeper *keeper = &run->tables->keeper;

	if (keeper->dropped_mapping)
		keeper->dropped_mapping(keeper->context, run->process, index);
}

static void expire_in(struct run *run, struct process *process)
{
	uint64_t oldest_ns = oldest_entry_ns(process, run->horizon->settled_ns);

	run->process = process;
	run->cleared = cleared_entries(process);
	run->counts->threads +=
		processes_sweep_threads(run->tables->processes, process, thread_goes, run);
	run->counts->mappings +=
		address_space_expire(&process->space, oldest_ns, tell_dropped, run);
}

/* ---- objects ---------------------------------------------------------------------- */

void expire_mark(const struct address_space *space)
{
	size_t i;

	for (i = 0; i < space->count; i++)
		space->items[i].object->is_used = true;
}

static bool object_goes(void *context, const struct object *object)
{
	const struct run *run = context;
	const struct expire_keeper *keeper = &run->tables->keeper;

	return !keeper->forgets_object || keeper->forgets_object(keeper->context, object);
}

void expire_run(const struct expire_tables *tables, const struct expire_horizon *horizon,
		struct expire_counts *counts)
{
	struct run run = {.tables = tables, .horizon = horizon, .counts = counts};
	size_t i;

	run.ended_ns = find_horizon(tables, horizon, counts);
	counts->processes += processes_sweep(tables->processes, process_goes, &run);
	for (i = 0; i < processes_count(tables->processes); i++) {
		struct process *process = processes_at(tables->processes, i);

		expire_in(&run, process);
		expire_mark(&process->space);
	}
	counts->objects += objects_sweep(tables->objects, object_goes, &run);
}
