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

		if (told->time_ns && counter >= GB_COUNTER_AMOUNTS)
			put(records, process,
			    &(struct counter_entry){counter, process->counted_ns, 0});
		if (told->time_ns)
			put(records, process,
			    &(struct counter_entry){counter, told->time_ns, told->value});
	}
}

static void tell(struct records *records, struct process *process, uint32_t counter,
		 uint64_t time_ns, int64_t value)
{
	process->counters[counter] = (struct process_counter){time_ns, value};
	if (process->buffer)
		put(records, process, &(struct counter_entry){counter, time_ns, value});
}

/* Of whom the record is; NULL: it says nothing, and that is counted. */
static struct process *find_process(struct records *records, const struct gb_task *task)
{
	struct thread *thread;

	if (processes_thread(records->config.processes, task, &thread)) {
		records->counts.no_memory++;
		return NULL;
	}
	records_mark_alive(records, thread->process);
	return thread->process;
}

static void note_told(struct records *records, struct process *process)
{
	if (process->died_ns)
		records_note_ended(records, process);
}

static void apply(struct records *records, const void *record, size_t size)
{
	const struct gb_counter_event *event = record;
	struct process *process;

	if (event->counter >= GB_COUNTER_COUNT || event->hdr.time_ns > INT64_MAX) {
		records->counts.bad_records++;
		return;
	}
	process = find_process(records, &event->task);
	if (!process)
		return;
	tell(records, process, event->counter, event->hdr.time_ns, event->value);
	note_told(records, process);
}

const struct record_kind counter_record = {
	.kind = GB_RECORD_COUNTER,
	.order = RECORD_AT_ONCE,
	.min_bytes = sizeof(struct gb_counter_event),
	.apply = apply,
};

static void add(struct records *records, struct process *process, uint32_t counter,
		const struct gb_amounts_event *event, int64_t amount)
{
	struct process_counter *told = &process->counters[counter];
	int64_t sum;

	if (!amount || __builtin_add_overflow(told->value, amount, &sum))
		return;
	if (!process->counted_ns)
		process->counted_ns = event->since_ns;
	if (!told->time_ns)
		tell(records, process, counter, event->since_ns, 0);
	tell(records, process, counter, event->hdr.time_ns, sum);
}

static void apply_amounts(struct records *records, const void *record, size_t size)
{
	const struct gb_amounts_event *event = record;
	struct process *process;
	uint32_t i;

	if (event->hdr.time_ns > INT64_MAX || event->since_ns > event->hdr.time_ns) {
		records->counts.bad_records++;
		return;
	}
	process = find_process(records, &event->task);
	if (!process)
		return;
	for (i = 0; i < GB_AMOUNT_COUNT; i++)
		add(records, process, GB_COUNTER_AMOUNTS + i, event, event->amounts[i]);
	note_told(records, process);
}

const struct record_kind amounts_record = {
	.kind = GB_RECORD_AMOUNTS,
	.order = RECORD_AT_ONCE,
	.min_bytes = sizeof(struct gb_amounts_event),
	.apply = apply_amounts,
};
