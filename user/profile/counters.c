/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.c - see counter.h. A new counter is a row in `counter_table`. */
#include "profile/counter.h"

#include "base/clock.h"
#include "buffer/profile_buffer.h"
#include "profile/model.h"
#include "profile/sink.h"
#include "target/process.h"

/* A change shows so long after a value was sent, at the latest, and then at the next tick: see bpf/counters.bpf.h. */
#define LATE_NS (10 * NS_PER_MS)

#define AMOUNT(name_, category_, description_, unit_, color_, source_, source_unit_, say_)         \
	{                                                                                          \
		.name = name_, .category = category_, .description = description_, .label = name_, \
		.unit = unit_, .color = color_, .graph = "line-rate", .sort_weight = 50,           \
		.rows = {                                                                          \
			{source_, source_unit_, say_},                                             \
			{"committed-range-total", unit_[0] ? unit_ : "number",                     \
			 "in the visible range"},                                                  \
		},                                                                                 \
	}
#define EVENTS(name, category, description, color)                                                 \
	AMOUNT(name, category, description, "", color, "count", "number", "since the point before")
#define BYTES(name, category, description, color)                                                  \
	AMOUNT(name, category, description, "bytes", color, "rate", "bytes-per-second",            \
	       "at this time")

const struct counter_kind counter_table[GB_COUNTER_COUNT] = {
	[GB_COUNTER_MEMORY] =
		{
			.name = "RSS",
			.category = "Memory",
			.description = "Memory of the process (resident set size)",
			.label = "Memory",
			.unit = "bytes",
			.color = "orange",
			.graph = "line-accumulated",
			.sort_weight = 20,
			.rows = {{"accumulated", "bytes", "resident memory at this time"},
				 {"count-range", "bytes", "memory range in graph"}},
		},
	[GB_COUNTER_FAULTS_MINOR] = EVENTS("Minor page faults", "Page faults",
					   "Page faults that were served from memory", "grey"),
	[GB_COUNTER_FAULTS_MAJOR] = EVENTS("Major page faults", "Page faults",
					   "Page faults that waited for a disk", "red"),
	[GB_COUNTER_SWITCHES_VOLUNTARY] = EVENTS("Voluntary context switches", "Context switches",
						 "Threads of the process that had to wait", "grey"),
	[GB_COUNTER_SWITCHES_INVOLUNTARY] =
		EVENTS("Involuntary context switches", "Context switches",
		       "Threads of the process whose CPU another got", "purple"),
	[GB_COUNTER_DISK_READ] =
		BYTES("Disk read", "Disk", "Bytes that the process caused to be read from disks",
		      "green"),
	[GB_COUNTER_DISK_WRITTEN] = BYTES("Disk written", "Disk",
					  "Bytes that the process caused to be written to disks, "
					  "when it changed them in memory",
					  "blue"),
	[GB_COUNTER_NETWORK_RECEIVED] =
		BYTES("Network received", "Network",
		      "Bytes that the process received by internet sockets", "green"),
	[GB_COUNTER_NETWORK_SENT] =
		BYTES("Network sent", "Network", "Bytes that the process sent by internet sockets",
		      "blue"),
};

static bool is_amount(uint32_t counter)
{
	return counter >= GB_COUNTER_AMOUNTS;
}

static int send_point(struct counters *counters, struct profile_sink *sink, uint32_t counter,
		      int64_t value, uint64_t time_ns)
{
	const struct profile_point point = {
		.counter = counter,
		.time_ns = time_ns,
		.change = (int64_t)((uint64_t)value - (uint64_t)counters->of[counter].told),
	};

	counters->of[counter].is_begun = true;
	counters->of[counter].told = value;
	counters->of[counter].told_ns = time_ns;
	return sink->ops->point(sink, &point);
}

/* The front-end takes the first point for nothing. */
static int begin(struct counters *counters, struct profile_sink *sink, uint32_t counter)
{
	if (is_amount(counter))
		counters->of[counter].told = counters->of[counter].value;
	return send_point(counters, sink, counter, counters->of[counter].told,
			  counters->of[counter].value_ns);
}

/* The latest value. It was the one before until a tick earlier, if that was told long ago. */
static int send_value(struct counters *counters, const struct profile_process *process,
		      struct profile_sink *sink, uint32_t counter)
{
	uint64_t time_ns = counters->of[counter].value_ns, tick_ns = process->facts->interval_ns;
	int64_t value = counters->of[counter].value, told = counters->of[counter].told;
	int err = 0;

	if (!counters->of[counter].is_begun) {
		err = begin(counters, sink, counter);
		told = counters->of[counter].told;
	}
	if (err || value == told || (is_amount(counter) && value < told))
		return err;
	if (time_ns - counters->of[counter].told_ns > LATE_NS + tick_ns)
		err = send_point(counters, sink, counter, told, time_ns - tick_ns);
	return err ? err : send_point(counters, sink, counter, value, time_ns);
}

/* When what is wanted of the process ends. */
static uint64_t end_of(const struct profile_process *process)
{
	const struct recording_facts *facts = process->facts;
	uint64_t end_ns = facts->end_ns, from_ns, to_ns;

	if (facts->until_ns && facts->until_ns < end_ns)
		end_ns = facts->until_ns;
	if (process->process->died_ns && process->process->died_ns < end_ns)
		end_ns = process->process->died_ns;
	profile_filter_span(&process->filter, profile_time_ns(facts, end_ns), &from_ns, &to_ns);
	return to_ns;
}

/* The time of the profile that it stands for. False: it is of none that is wanted. */
static bool find_time(const struct profile_process *process, const struct counter_entry *entry,
		      uint64_t *time_ns)
{
	const struct recording_facts *facts = process->facts;
	uint64_t end_ns = end_of(process);

	*time_ns = profile_time_ns(facts, entry->time_ns);
	if (entry->counter >= GB_COUNTER_COUNT ||
	    (facts->until_ns && entry->time_ns > facts->until_ns) ||
	    (process->filter.to_ns && *time_ns >= process->filter.to_ns))
		return false;
	if (*time_ns < process->filter.from_ns)
		*time_ns = process->filter.from_ns;
	if (*time_ns > end_ns) /* when all was listed at the end */
		*time_ns = end_ns;
	return true;
}

static int take(struct counters *counters, const struct profile_process *process,
		struct profile_sink *sink, const struct counter_entry *entry)
{
	uint32_t counter = entry->counter;
	uint64_t time_ns;
	int err = 0;

	if (!find_time(process, entry, &time_ns) ||
	    (counters->of[counter].is_known && time_ns < counters->of[counter].value_ns))
		return 0;
	if (counters->of[counter].is_known && time_ns > counters->of[counter].value_ns)
		err = send_value(counters, process, sink, counter);
	counters->of[counter].is_known = true;
	counters->of[counter].value = entry->value;
	counters->of[counter].value_ns = time_ns;
	return err;
}

/* Of those before the part that is wanted, the latest is enough. */
static void wait_with(struct counters *counters, const struct profile_process *process,
		      const struct counter_entry *entry)
{
	size_t last = counters->waiting_count - 1;
	bool is_full = counters->waiting_count == COUNTERS_WAITING;
	uint64_t time_ns, last_ns;

	if (!find_time(process, entry, &time_ns))
		return;
	if (counters->waiting_count && counters->waiting[last].counter == entry->counter &&
	    find_time(process, &counters->waiting[last], &last_ns) && last_ns == time_ns)
		is_full = true;
	counters->waiting[is_full ? last : counters->waiting_count++] = *entry;
}

int counters_take(struct counters *counters, const struct profile_process *process,
		  struct profile_sink *sink, const struct counter_entry *entry)
{
	if (sink)
		return take(counters, process, sink, entry);
	wait_with(counters, process, entry);
	return 0;
}

int counters_begin(struct counters *counters, const struct profile_process *process,
		   struct profile_sink *sink)
{
	size_t i;
	int err = 0;

	for (i = 0; i < counters->waiting_count && !err; i++)
		err = take(counters, process, sink, &counters->waiting[i]);
	counters->waiting_count = 0;
	return err;
}

static int end_counter(struct counters *counters, const struct profile_process *process,
		       struct profile_sink *sink, uint32_t counter)
{
	uint64_t end_ns = end_of(process);
	int err = send_value(counters, process, sink, counter);

	if (!err && counters->of[counter].told_ns < end_ns)
		err = send_point(counters, sink, counter, counters->of[counter].told, end_ns);
	return err;
}

int counters_end(struct counters *counters, const struct profile_process *process,
		 struct profile_sink *sink)
{
	uint32_t counter;
	int err = 0;

	for (counter = 0; counter < GB_COUNTER_COUNT && !err; counter++)
		if (counters->of[counter].is_known)
			err = end_counter(counters, process, sink, counter);
	return err;
}
