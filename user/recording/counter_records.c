/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_records.c - see counter_records.h. */
#include "recording/counter_records.h"

#include "buffer/profile_buffer.h"
#include "recording/records_state.h"
#include "target/process.h"

_Static_assert(GB_COUNTER_COUNT <= ENTRY_COUNTERS, "the buffer takes all of them");
_Static_assert(GB_COUNTER_COUNT <= PROCESS_COUNTERS, "a process has a place for each");

static void put(struct records *records, struct process *process, const struct counter_entry *entry)
{
	if (profile_buffer_put_counter(process->buffer, entry))
		records->counts.counters_lost++;
}

void counter_records_begin(struct records *records, struct process *process)
{
	uint32_t counter;

	for (counter = 0; counter < GB_COUNTER_COUNT; counter++) {
		const struct process_counter *told = &process->counters[counter];
		const struct counter_entry entry = {counter, told->time_ns, told->value};

		if (told->time_ns)
			put(records, process, &entry);
	}
}

static void apply(struct records *records, const void *record, size_t size)
{
	const struct gb_counter_event *event = record;
	struct process_counter *told;
	struct process *process;
	struct thread *thread;

	if (event->counter >= GB_COUNTER_COUNT || event->hdr.time_ns > INT64_MAX) {
		records->counts.bad_records++;
		return;
	}
	if (processes_thread(records->config.processes, &event->task, &thread)) {
		records->counts.no_memory++;
		return;
	}
	process = thread->process;
	records_mark_alive(records, process);
	told = &process->counters[event->counter];
	*told = (struct process_counter){event->hdr.time_ns, event->value};
	if (process->buffer)
		put(records, process,
		    &(struct counter_entry){event->counter, told->time_ns, told->value});
	if (process->died_ns)
		records_note_ended(records, process);
}

const struct record_kind counter_record = {
	.kind = GB_RECORD_COUNTER,
	.order = RECORD_AT_ONCE,
	.min_bytes = sizeof(struct gb_counter_event),
	.apply = apply,
};
