/* SPDX-License-Identifier: BSD-2-Clause */
/* expire.c - see expire.h. */
#include "recording/expire.h"

#include "buffer/profile_buffer.h"
#include "target/object.h"
#include "target/process.h"

struct run {
	const struct expire_tables *tables;
	const struct expire_horizon *horizon;
	struct expire_counts *counts;
	uint64_t ended_ns; /* what ended before goes */
	uint64_t round; /* of the visit of mappings */
};

/* ---- processes -------------------------------------------------------------------- */

/* The user asked for this process: the profile shows it, though it may be empty. */
static bool is_asked_for(const struct processes *processes, const struct process *process)
{
	return process->is_root && processes_latest(processes, process->tgid) == process;
}

static uint64_t last_sample_ns(const struct process *process)
{
	uint64_t last_ns = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		if (process->threads.items[i]->sampled_ns > last_ns)
			last_ns = process->threads.items[i]->sampled_ns;
	return last_ns;
}

static uint64_t pushed_samples(const struct process *process)
{
	return process->buffer ? profile_buffer_get_state(process->buffer).samples_pushed : 0;
}

static bool has_samples(const struct process *process)
{
	return process->buffer &&
	       profile_buffer_get_state(process->buffer).samples_cleared < pushed_samples(process);
}

static bool is_over(const struct run *run, const struct process *process)
{
	if (!process->died_ns)
		return false;
	if (process->died_ns < run->ended_ns && last_sample_ns(process) < run->ended_ns)
		return true;
	return run->horizon->is_pressed && process->died_ns < run->horizon->settled_ns &&
	       !has_samples(process);
}

static bool process_goes(void *context, struct process *process)
{
	const struct run *run = context;
	const struct expire_keeper *keeper = &run->tables->keeper;

	if (!is_over(run, process) || is_asked_for(run->tables->processes, process))
		return false;
	if (keeper->forgets_process && !keeper->forgets_process(keeper->context, process))
		return false;
	run->counts->samples += pushed_samples(process);
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

	if (!died_ns || thread->tid == thread->process->tgid)
		return false;
	if (died_ns < run->ended_ns && thread->sampled_ns < run->ended_ns)
		return true;
	return run->horizon->is_pressed && died_ns < run->horizon->settled_ns &&
	       !thread->sampled_ns;
}

/* ---- mappings --------------------------------------------------------------------- */

static void mark_object(void *context, const struct mapping *mapping)
{
	mapping->object->is_used = true;
}

void expire_mark(struct address_space *space, uint64_t round)
{
	address_space_visit(space, round, mark_object, NULL);
}

static void expire_in(struct run *run, struct process *process)
{
	run->counts->threads +=
		processes_sweep_threads(run->tables->processes, process, thread_goes, run);
	run->counts->mappings += address_space_expire(&process->space, run->ended_ns);
	expire_mark(&process->space, run->round);
}

/* ---- objects ---------------------------------------------------------------------- */

static bool object_goes(void *context, const struct object *object)
{
	const struct run *run = context;
	const struct expire_keeper *keeper = &run->tables->keeper;

	return !keeper->forgets_object || keeper->forgets_object(keeper->context, object);
}

void expire_run(const struct expire_tables *tables, const struct expire_horizon *horizon,
		struct expire_counts *counts)
{
	struct run run = {
		.tables = tables, .horizon = horizon, .counts = counts, .round = tables->round};
	size_t i;

	run.ended_ns =
		horizon->hidden_ns < horizon->settled_ns ? horizon->hidden_ns : horizon->settled_ns;
	counts->processes += processes_sweep(tables->processes, process_goes, &run);
	for (i = 0; i < processes_count(tables->processes); i++)
		expire_in(&run, processes_at(tables->processes, i));
	counts->objects += objects_sweep(tables->objects, object_goes, &run);
}
