/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live_processes.c - which processes are there: those that records name, until one says that they ended, or a roll
 * call finds them gone.
 */
#include "buffer/profile_buffer.h"
#include "recording/records.h"
#include "recording/records_state.h"
#include "target/process.h"

void records_mark_alive(struct records *records, struct process *process)
{
	if (process->is_counted || process->died_ns)
		return;
	process->is_counted = true;
	process->is_root = records_is_expected(records, process->tgid);
	process->is_changed = true;
	records->counts.live_processes++;
}

void records_note_ended(struct records *records, struct process *process)
{
	if (!process->buffer || process->is_ending)
		return;
	process->is_ending = true;
	process->next_ending = records->ending;
	records->ending = process;
}

void records_finish_ended(struct records *records)
{
	struct process *process;

	while ((process = records->ending) != NULL) {
		records->ending = process->next_ending;
		process->is_ending = false;
		profile_buffer_finish(process->buffer);
	}
}

void records_mark_dead(struct records *records, struct process *process, uint64_t time_ns)
{
	if (process->died_ns)
		return;
	process->died_ns = time_ns ? time_ns : 1; /* 0: it lives */
	if (process->is_counted)
		records->counts.live_processes--;
	records_note_ended(records, process);
	records_tell_changed(records, process);
}

/* ---- roll call ----------------------------------------------------------------------- */

void records_call_roll(struct records *records)
{
	records->roll_call++;
}

static void end_roll_of(struct records *records, struct process *process, uint64_t time_ns)
{
	bool is_there = false;
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		struct thread *thread = process->threads.items[i];

		thread_note_changed(thread);
		if (thread->roll_call == records->roll_call)
			is_there = true;
		else if (!thread->died_ns)
			thread->died_ns = time_ns;
	}
	if (!is_there)
		records_mark_dead(records, process, time_ns);
}

void records_end_roll(struct records *records, uint64_t time_ns)
{
	size_t i;

	for (i = 0; i < processes_count(records->config.processes); i++) {
		struct process *process = processes_at(records->config.processes, i);

		if (!process->died_ns)
			end_roll_of(records, process, time_ns);
	}
}
