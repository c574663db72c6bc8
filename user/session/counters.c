/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.c - see counters.h. A new counter is a row in `rows`, or in its source's. */
#include "session/counters.h"

#include "base/log.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "capture/cpus.h"
#include "capture/kernel_side.h"
#include "capture/preflight.h"
#include "capture/sideband.h"
#include "capture/source.h"
#include "capture/sources.h"
#include "recording/fact_list.h"
#include "session/state.h"
#include "target/object.h"
#include "target/process.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define MAX_PROGRAMS 16

/* ---- names ------------------------------------------------------------------------- */

enum row_condition {
	ALWAYS,
	IN_STREAMS,
	IF_ANY,
};

struct row {
	const char *name; /* NULL: it has that of the loss */
	enum loss_cause loss;
	size_t offset; /* in struct counters, of 8 bytes */
	enum row_condition condition;
};

#define SIZE_OF(field) sizeof(((struct counters *)0)->field)
/* Divides by zero, which no compiler takes, if the field is not of 8 bytes. */
#define OFFSET_OF(field) (offsetof(struct counters, field) / (SIZE_OF(field) == 8))
#define ROW(name, field, condition)                                                                \
	{                                                                                          \
		name, LOSS_UNKNOWN, OFFSET_OF(field), condition                                    \
	}
#define LOSS(cause, field, condition)                                                              \
	{                                                                                          \
		NULL, cause, OFFSET_OF(field), condition                                           \
	}

/* Of several recordings they add up, unless recording/merged_log.c has a row that says otherwise. */
static const struct row rows[] = {
	ROW("timer_ticks_missed", kernel[GB_STAT_TICKS_MISSED], ALWAYS),
	LOSS(LOSS_TICKS_OWN, kernel[GB_STAT_TICKS_MISSED_OWN], IF_ANY),
	LOSS(LOSS_TICKS_THROTTLED, kernel[GB_STAT_TICKS_MISSED_THROTTLED], IF_ANY),
	LOSS(LOSS_TICKS, ticks_missed_other, IF_ANY),
	ROW("cost_bpf_ns", bpf_ns, IF_ANY),
	ROW("cpu_time_stolen_ns", stolen_ns, IF_ANY),
	ROW("counter_values_put_off", kernel[GB_STAT_COUNTERS_FULL], IF_ANY),
	ROW("counter_looks_without_slot", kernel[GB_STAT_AMOUNTS_NO_SLOT], IF_ANY),
	ROW("counter_values_lost_buffer", records.counters_lost, IF_ANY),
	ROW("context_switches", kernel[GB_STAT_SWITCHES], ALWAYS),
	ROW("samples_captured", kernel[GB_STAT_SAMPLES], ALWAYS),
	LOSS(LOSS_RING, kernel[GB_STAT_RING_FULL], ALWAYS),
	LOSS(LOSS_RECURSION, samples_lost_recursion, ALWAYS),
	ROW("samples_sent_raw", kernel[GB_STAT_RAW], ALWAYS),
	LOSS(LOSS_CONTROL_RING, kernel[GB_STAT_CONTROL_FULL], ALWAYS),
	LOSS(LOSS_EVENTS_RECURSION, events_lost_recursion, ALWAYS),
	LOSS(LOSS_TARGETS, kernel[GB_STAT_TARGETS_FULL], ALWAYS),
	ROW("samples_recorded", records.samples, ALWAYS),
	LOSS(LOSS_BUFFER, records.put_failed, ALWAYS),
	LOSS(LOSS_MEMORY, records_lost_memory, ALWAYS),
	LOSS(LOSS_LEFT_OUT, left_out.samples, IF_ANY),
	LOSS(LOSS_EVENTS_LEFT_OUT, left_out.events, IF_ANY),
	ROW("bytes_left_out_at_end", left_out.bytes, IF_ANY),
	ROW("behind_at_end_ns", behind_ns, IF_ANY),
	LOSS(LOSS_BAD, records.bad_records, ALWAYS),
	LOSS(LOSS_MAPPINGS, mappings_lost, ALWAYS),
	ROW("processes_forgotten", records.expired.processes, ALWAYS),
	ROW("threads_forgotten", records.expired.threads, ALWAYS),
	ROW("mappings_forgotten", records.expired.mappings, ALWAYS),
	ROW("mappings_left_out", records.mappings_left_out, IF_ANY),
	ROW("files_forgotten", records.expired.objects, ALWAYS),
	ROW("unwind_tables", tables.files.tables, ALWAYS),
	ROW("unwind_table_bytes", tables.files.table_bytes, ALWAYS),
	ROW("unwind_tables_evicted", tables.files.evicted, ALWAYS),
	ROW("unwind_tables_displaced", tables.files.displaced, IF_ANY),
	ROW("unwind_files_without_table", tables.files.no_table, ALWAYS),
	ROW("unwind_files_no_room", tables.files.no_room, ALWAYS),
	ROW("unwind_files_code_skipped", tables.files.skipped_files, IF_ANY),
	ROW("unwind_bytes_code_skipped", tables.files.skipped_bytes, IF_ANY),
	ROW("unwind_files_beyond_limits", tables.files.beyond_limits, IF_ANY),
	ROW("files_not_opened_in_time", files_late, IF_ANY),
	ROW("unwind_files_late", tables.files.failed[FILE_TABLE_LATE], IF_ANY),
	ROW("unwind_files_reader_died", tables.files.failed[FILE_TABLE_DIED], IF_ANY),
	ROW("unwind_files_bad_answer", tables.files.failed[FILE_TABLE_BAD], IF_ANY),
	ROW("unwind_files_too_large", tables.files.failed[FILE_TABLE_LARGE], IF_ANY),
	ROW("unwind_processes_no_room", tables.processes_no_room, ALWAYS),
	ROW("samples_overwritten", overwritten, ALWAYS),
	ROW("buffer_chunks_made", memory.chunks.made, ALWAYS),
	ROW("buffer_chunks_recycled", memory.chunks.recycled, ALWAYS),
	ROW("buffer_chunks_destroyed", memory.chunks.destroyed, ALWAYS),
	ROW("buffer_chunks_compressed", memory.compression.chunks, ALWAYS),
	ROW("buffer_chunks_incompressible", memory.compression.kept, ALWAYS),
	ROW("buffer_chunks_compression_failed", memory.compression.failures, ALWAYS),
	ROW("buffer_bytes_compressed_from", memory.compression.bytes_in, ALWAYS),
	ROW("buffer_bytes_compressed_to", memory.compression.bytes_out, ALWAYS),
	ROW("buffer_compression_cpu_ns", memory.compression.cpu_ns, ALWAYS),
	ROW("buffer_bytes", buffer_bytes, ALWAYS),
	ROW("buffer_bytes_used", used_bytes, ALWAYS),
	ROW("ring_bytes", ring_bytes, ALWAYS),
	ROW("sampling_rate_hz", rate_hz, ALWAYS),
	ROW("capture_samples_lost_damaged", stream.damaged, IF_ANY),
	ROW("stream_bytes", stream.bytes, IN_STREAMS),
	ROW("stream_cpu_ns", stream.cpu_ns, IN_STREAMS),
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static bool is_told(const struct counters *counters, const struct row *row, uint64_t value)
{
	return row->condition == ALWAYS || (row->condition == IF_ANY && value) ||
	       (row->condition == IN_STREAMS && counters->stream.bytes);
}

static void log_sources(const struct counters *counters, struct fact_list *log)
{
	const struct source_counter *counter;
	size_t i;

	for (i = 0; i < sources_count(counters->sources); i++)
		for (counter = sources_at(counters->sources, i)->counters; counter->name; counter++)
			fact_list_add_number(log, counter->name, counters->kernel[counter->stat]);
}

static uint64_t value_of(const struct counters *counters, const struct row *row)
{
	uint64_t value;

	memcpy(&value, (const char *)counters + row->offset, sizeof(value));
	return value;
}

void counters_log(const struct counters *counters, struct fact_list *log)
{
	const struct row *row;

	log_sources(counters, log);
	for (row = rows; row < rows + ROW_COUNT; row++)
		if (is_told(counters, row, value_of(counters, row)))
			fact_list_add_number(log,
					     row->name ? row->name : loss_words[row->loss].counter,
					     value_of(counters, row));
}

void counters_losses(const struct counters *counters, uint64_t counts[LOSS_CAUSE_COUNT])
{
	const struct row *row;

	memset(counts, 0, LOSS_CAUSE_COUNT * sizeof(*counts));
	for (row = rows; row < rows + ROW_COUNT; row++)
		if (!row->name)
			counts[row->loss] = value_of(counters, row);
}

/* ---- counting ---------------------------------------------------------------------- */

/* The kernel goes on counting while they are read, and counts all first. */
static uint64_t other_ticks(const uint64_t *kernel)
{
	const uint64_t known =
		kernel[GB_STAT_TICKS_MISSED_OWN] + kernel[GB_STAT_TICKS_MISSED_THROTTLED];

	return kernel[GB_STAT_TICKS_MISSED] > known ? kernel[GB_STAT_TICKS_MISSED] - known : 0;
}

static void count_kernel(const struct session *session, struct counters *counters)
{
	struct program_cost costs[MAX_PROGRAMS];
	size_t count = kernel_side_costs(session->kernel, costs, MAX_PROGRAMS), i;

	counters->sources = session->sources;
	(void)kernel_side_stats(session->kernel, counters->kernel);
	counters->ticks_missed_other = other_ticks(counters->kernel);
	for (i = 0; i < count; i++) {
		counters->bpf_ns += costs[i].ns;
		if (sources_has_program(session->sources, costs[i].name))
			counters->samples_lost_recursion += costs[i].missed;
		else
			counters->events_lost_recursion += costs[i].missed;
	}
	counters->ring_bytes = kernel_side_ring_bytes(session->kernel);
	counters->mappings_lost = sideband_lost(session->sideband);
	counters->files_late = objects_get_stats(session->objects).late;
	counters->tables = publisher_get_stats(session->publisher);
}

static void log_costs(const struct session *session)
{
	struct program_cost costs[MAX_PROGRAMS];
	size_t count = kernel_side_costs(session->kernel, costs, MAX_PROGRAMS), i;

	for (i = 0; i < count; i++)
		log_debug("BPF program %s: %" PRIu64 " runs, %" PRIu64 " ns, %" PRIu64 " missed",
			  costs[i].name, costs[i].runs, costs[i].ns, costs[i].missed);
}

static void count_records(const struct session *session, struct counters *counters)
{
	counters->records = *records_counts(session->records);
	counters->records_lost_memory = counters->records.no_memory + drain_lost(session->drain);
	counters->rate_hz = session->config->rate_hz;
	counters->left_out = *drain_get_left_out(session->drain);
	if (counters->left_out.since_ns && counters->left_out.since_ns < session->end_ns)
		counters->behind_ns = session->end_ns - counters->left_out.since_ns;
}

/* Keeps the worst, in order. */
static void note_overwritten(struct overwritten_process most[COUNTERS_MOST_OVERWRITTEN],
			     const struct process *process, uint64_t samples)
{
	size_t n;

	for (n = COUNTERS_MOST_OVERWRITTEN; n > 0 && samples > most[n - 1].samples; n--) {
		if (n < COUNTERS_MOST_OVERWRITTEN)
			most[n] = most[n - 1];
		most[n - 1].tgid = process->tgid;
		most[n - 1].samples = samples;
		memcpy(most[n - 1].name, process->name, sizeof(most[n - 1].name));
	}
}

static void count_buffer(const struct session *session, struct counters *counters)
{
	size_t i;

	counters->memory = profile_memory_get_stats(session->memory);
	counters->buffer_bytes =
		counters->memory.chunks.unreleased_bytes + counters->memory.chunks.released_bytes;
	counters->overwritten = counters->records.expired.samples;
	for (i = 0; i < processes_count(session->processes); i++) {
		const struct process *process = processes_at(session->processes, i);
		struct profile_buffer_state state;

		if (!process->buffer)
			continue;
		state = profile_buffer_get_state(process->buffer);
		counters->overwritten += state.samples_cleared;
		counters->used_bytes += state.range_end - state.range_start;
		note_overwritten(counters->most_overwritten, process, state.samples_cleared);
	}
}

static void sum_up(struct counters *counters)
{
	uint64_t counts[LOSS_CAUSE_COUNT], *sums[LOSS_KIND_COUNT] = {
						   [LOSS_OF_SAMPLES] = &counters->lost,
						   [LOSS_OF_EVENTS] = &counters->events_lost,
					   };
	size_t i;

	counters_losses(counters, counts);
	for (i = 0; i < LOSS_CAUSE_COUNT; i++)
		if (sums[loss_words[i].kind])
			*sums[loss_words[i].kind] += counts[i];
}

/* After what was overwritten, and after what was forgotten. */
static uint64_t begin_ns(const struct session *session)
{
	uint64_t hidden_ns = profile_memory_complete_since_ns(session->memory);

	if (session->hidden_ns > hidden_ns)
		hidden_ns = session->hidden_ns;
	/* An entry is put after its sample was taken: those of that very moment belong to what went. */
	return hidden_ns >= session->start_ns ? hidden_ns + 1 : session->start_ns;
}

void counters_collect_losses(const struct session *session, struct counters *out)
{
	*out = (struct counters){0};
	count_kernel(session, out);
	count_records(session, out);
	sum_up(out);
}

void counters_collect(const struct session *session, struct counters *out)
{
	counters_collect_losses(session, out);
	out->from_ns = begin_ns(session);
	out->end_ns = session->end_ns;
	out->is_ring = session->config->ring;
	out->stolen_ns = cpus_stolen_ns() - session->stolen_at_start_ns;
	out->max_rate_hz = preflight_max_rate_hz();
	count_buffer(session, out);
	log_costs(session);
}
