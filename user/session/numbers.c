/* SPDX-License-Identifier: BSD-2-Clause */
/* numbers.c - see numbers.h. */
#include "session/numbers.h"

#include "base/clock.h"
#include "base/log.h"
#include "buffer/profile_memory.h"
#include "buffer/profile_buffer.h"
#include "capture/drain.h"
#include "capture/kernel_side.h"
#include "capture/publish.h"
#include "recording/records.h"
#include "capture/sideband.h"
#include "capture/source.h"
#include "capture/sources.h"
#include "format/label.h"
#include "session/session_state.h"
#include "target/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_PROGRAMS 16
#define OVERWRITTEN_SHOWN 3
#define MISSED_SHOWN 100 /* one tick missed in so many is told */

/* ---- counting ---------------------------------------------------------------------- */

void numbers_add(struct numbers *numbers, const struct recording_fact *fact)
{
	if (numbers->count < NUMBERS_MAX)
		numbers->facts[numbers->count++] = *fact;
}

void numbers_set(struct numbers *numbers, const char *name, uint64_t value)
{
	size_t i;

	for (i = 0; i < numbers->count; i++)
		if (!strcmp(numbers->facts[i].name, name))
			numbers->facts[i].value = value;
}

static void add_fact(struct numbers *numbers, const char *name, uint64_t value)
{
	numbers_add(numbers, &(struct recording_fact){.name = name, .value = value});
}

static void add_source_counters(const struct session *session, const uint64_t *stats,
				struct numbers *numbers)
{
	const struct source_counter *counter;
	size_t i;

	for (i = 0; i < sources_count(session->sources); i++)
		for (counter = sources_at(session->sources, i)->counters; counter->name; counter++)
			add_fact(numbers, counter->name, stats[counter->stat]);
}

static void tally_kernel(const struct session *session, struct numbers *numbers)
{
	struct program_cost costs[MAX_PROGRAMS];
	uint64_t stats[GB_STAT_COUNT] = {0}, missed = 0;
	size_t count = kernel_side_costs(session->kernel, costs, MAX_PROGRAMS), i;

	(void)kernel_side_stats(session->kernel, stats);
	for (i = 0; i < count; i++) {
		if (sources_has_program(session->sources, costs[i].name))
			missed += costs[i].missed;
		else
			numbers->events_lost += costs[i].missed;
		log_debug("BPF program %s: %" PRIu64 " runs, %" PRIu64 " ns, %" PRIu64 " missed",
			  costs[i].name, costs[i].runs, costs[i].ns, costs[i].missed);
	}
	add_source_counters(session, stats, numbers);
	add_fact(numbers, "context_switches", stats[GB_STAT_SWITCHES]);
	add_fact(numbers, "samples_captured", stats[GB_STAT_SAMPLES]);
	add_fact(numbers, "samples_lost_ring_full", stats[GB_STAT_RING_FULL]);
	add_fact(numbers, "samples_lost_recursion", missed);
	add_fact(numbers, "samples_sent_raw", stats[GB_STAT_RAW]);
	add_fact(numbers, "events_lost_ring_full", stats[GB_STAT_CONTROL_FULL]);
	add_fact(numbers, "events_lost_recursion", numbers->events_lost);
	add_fact(numbers, "children_not_followed", stats[GB_STAT_TARGETS_FULL]);
	numbers->ticks = stats[GB_STAT_TICKS];
	numbers->ticks_missed = stats[GB_STAT_TICKS_MISSED];
	numbers->lost += stats[GB_STAT_RING_FULL] + missed;
	numbers->events_lost += stats[GB_STAT_CONTROL_FULL] + stats[GB_STAT_TARGETS_FULL];
}

static void tally_user(const struct session *session, struct numbers *numbers)
{
	const struct records_counts *counts = records_counts(session->records);
	uint64_t no_memory = counts->no_memory + drain_lost(session->drain);

	add_fact(numbers, "samples_recorded", counts->samples);
	add_fact(numbers, "samples_lost_buffer", counts->put_failed);
	add_fact(numbers, "records_lost_memory", no_memory);
	add_fact(numbers, "records_bad", counts->bad_records);
	add_fact(numbers, "mappings_lost_ring_full", sideband_lost(session->sideband));
	add_fact(numbers, "processes_forgotten", counts->expired.processes);
	add_fact(numbers, "threads_forgotten", counts->expired.threads);
	add_fact(numbers, "mappings_forgotten", counts->expired.mappings);
	add_fact(numbers, "files_forgotten", counts->expired.objects);
	numbers->expired = counts->expired;
	numbers->overwritten += counts->expired.samples;
	numbers->lost += counts->put_failed;
	numbers->events_lost += no_memory + counts->bad_records + sideband_lost(session->sideband);
}

static void tally_tables(const struct session *session, struct numbers *numbers)
{
	const struct publisher_stats stats = publisher_get_stats(session->publisher);

	add_fact(numbers, "unwind_tables", stats.files.tables);
	add_fact(numbers, "unwind_table_bytes", stats.files.table_bytes);
	add_fact(numbers, "unwind_tables_evicted", stats.files.evicted);
	add_fact(numbers, "unwind_files_without_table", stats.files.no_table);
	add_fact(numbers, "unwind_files_no_room", stats.files.no_room);
	add_fact(numbers, "unwind_processes_no_room", stats.processes_no_room);
	numbers->no_room = stats.files.no_room;
}

static void tally_buffer(const struct session *session, struct numbers *numbers)
{
	const struct profile_memory_stats memory = profile_memory_get_stats(session->memory);
	const struct chunk_store_stats *chunks = &memory.chunks;
	const struct compressor_counts *compression = &memory.compression;
	size_t i;

	for (i = 0; i < processes_count(session->processes); i++) {
		const struct process *process = processes_at(session->processes, i);
		struct profile_buffer_state state;

		if (!process->buffer)
			continue;
		state = profile_buffer_get_state(process->buffer);
		numbers->overwritten += state.cleared;
		numbers->used_bytes += state.range_end - state.range_start;
	}
	add_fact(numbers, "samples_overwritten", numbers->overwritten);
	add_fact(numbers, "buffer_chunks_made", chunks->made);
	add_fact(numbers, "buffer_chunks_recycled", chunks->recycled);
	add_fact(numbers, "buffer_chunks_destroyed", chunks->destroyed);
	add_fact(numbers, "buffer_chunks_compressed", compression->chunks);
	add_fact(numbers, "buffer_chunks_incompressible", compression->kept);
	add_fact(numbers, "buffer_chunks_compression_failed", compression->failures);
	add_fact(numbers, "buffer_bytes_compressed_from", compression->bytes_in);
	add_fact(numbers, "buffer_bytes_compressed_to", compression->bytes_out);
	add_fact(numbers, "buffer_compression_cpu_ns", compression->cpu_ns);
	add_fact(numbers, "buffer_bytes", chunks->unreleased_bytes + chunks->released_bytes);
	add_fact(numbers, "buffer_bytes_used", numbers->used_bytes);
	add_fact(numbers, "ring_bytes", kernel_side_ring_bytes(session->kernel));
	add_fact(numbers, "sampling_rate_hz", session->config->rate_hz);
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

void numbers_collect(const struct session *session, struct numbers *out)
{
	memset(out, 0, sizeof(*out));
	out->from_ns = begin_ns(session);
	tally_kernel(session, out);
	tally_user(session, out);
	tally_tables(session, out);
	tally_buffer(session, out);
}

/* ---- printing -------------------------------------------------------------------- */

static void print_size(uint64_t bytes, char *text, size_t text_bytes)
{
	if (bytes < 1000000)
		snprintf(text, text_bytes, "%" PRIu64 " kB", (bytes + 500) / 1000);
	else
		snprintf(text, text_bytes, "%.1f MB", (double)bytes / 1e6);
}

/* Who lost most of what the buffer could not hold: "12 of clang (pid 42)". */
static void print_overwritten_processes(const struct session *session)
{
	struct {
		const struct process *process;
		uint64_t samples;
	} most[OVERWRITTEN_SHOWN] = {{0}};
	size_t i, n;

	for (i = 0; i < processes_count(session->processes); i++) {
		const struct process *process = processes_at(session->processes, i);
		uint64_t samples =
			process->buffer ? profile_buffer_get_state(process->buffer).cleared : 0;

		for (n = OVERWRITTEN_SHOWN; n > 0 && samples > most[n - 1].samples; n--) {
			if (n < OVERWRITTEN_SHOWN)
				most[n] = most[n - 1];
			most[n - 1].process = process;
			most[n - 1].samples = samples;
		}
	}
	for (n = 0; n < OVERWRITTEN_SHOWN && most[n].samples; n++)
		log_more("%" PRIu64 " of them of %s (pid %u)", most[n].samples,
			 most[n].process->name, most[n].process->tgid);
}

static void print_overwritten(const struct session *session, const struct numbers *numbers)
{
	double held_s = (double)(session->end_ns - numbers->from_ns) / NS_PER_SEC;

	if (session->config->ring) {
		log_info("the buffer held the last %.1f s; %" PRIu64
			 " older samples were overwritten",
			 held_s, numbers->overwritten);
		return;
	}
	log_warn("the buffer was full: the profile has the last %.1f s; %" PRIu64
		 " older samples were overwritten; give a larger --buffer-size",
		 held_s, numbers->overwritten);
	print_overwritten_processes(session);
}

/* `damaged`: samples that the buffer had, but could not be read. */
static void print_losses(const struct session *session, const struct numbers *numbers,
			 uint64_t damaged)
{
	if (damaged)
		log_warn("%" PRIu64 " samples of damaged chunks of the buffer are missing: check "
			 "this machine's memory, or report a bug of geckobpf",
			 damaged);
	if (numbers->lost)
		log_warn("%" PRIu64 " samples were lost: we could not keep up; lower --rate",
			 numbers->lost);
	if (numbers->ticks_missed > numbers->ticks / MISSED_SHOWN)
		log_more("%" PRIu64 " timer ticks (%.1f %%) did not come in time for a sample: a "
			 "hypervisor had "
			 "the CPUs, or interrupts were off",
			 numbers->ticks_missed,
			 (double)numbers->ticks_missed * 100 /
				 (double)(numbers->ticks + numbers->ticks_missed));
	if (numbers->overwritten)
		print_overwritten(session, numbers);
	if (numbers->expired.processes || numbers->expired.threads)
		log_more("forgotten, for they ended before: %" PRIu64 " processes, %" PRIu64
			 " threads, %" PRIu64 " files",
			 numbers->expired.processes, numbers->expired.threads,
			 numbers->expired.objects);
	if (numbers->no_room)
		log_warn("the unwind tables of %" PRIu64
			 " file%s found no room: stacks may be cut; raise --unwind-memory",
			 numbers->no_room, numbers->no_room == 1 ? "" : "s");
	if (numbers->events_lost)
		log_warn("%" PRIu64
			 " events were lost: some names, threads or libraries may be missing",
			 numbers->events_lost);
}

/* Stacks that ended early, by reason: "12 stacks truncated: stack not readable". */
static void print_truncated(const struct profile_summary *summary)
{
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (summary->stack_ends[end] && label_stack_end(end))
			log_more("%" PRIu64 " stacks truncated: %s", summary->stack_ends[end],
				 label_stack_end(end));
}

/* Percent of the user stacks that are whole; negative: there were none. */
static double complete_share(const struct profile_summary *summary)
{
	uint64_t complete = summary->stack_ends[GB_STACK_COMPLETE], all = complete;
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (label_stack_end(end))
			all += summary->stack_ends[end];
	return all ? (double)complete * 100 / (double)all : -1;
}

void numbers_print(const struct session *session, const struct numbers *numbers, const char *path,
		   uint64_t bytes, const struct profile_summary *summary)
{
	char size[32], complete[64] = "";
	double share = complete_share(summary);

	print_size(bytes, size, sizeof(size));
	if (share >= 0)
		snprintf(complete, sizeof(complete), ", %.1f %% of stacks complete", share);
	log_info("wrote %s (%s): %" PRIu64 " samples of %" PRIu64 " thread%s, %" PRIu64 " lost%s",
		 strcmp(path, "-") ? path : "to stdout", size, summary->samples, summary->threads,
		 summary->threads == 1 ? "" : "s", numbers->lost, complete);
	print_truncated(summary);
	if (strcmp(path, "-"))
		log_more("open it at https://profiler.firefox.com (Load a profile from file)");
	print_losses(session, numbers, summary->damaged);
}

void numbers_print_raw(const struct session *session, const struct numbers *numbers,
		       const char *path, uint64_t bytes)
{
	uint64_t damaged = recording_damaged(session->processes);
	char size[32];

	print_size(bytes, size, sizeof(size));
	log_info("wrote %s (%s): a raw capture of %" PRIu64 " samples, %" PRIu64 " lost", path,
		 size, records_counts(session->records)->samples - numbers->overwritten - damaged,
		 numbers->lost);
	log_more("geckobpf convert %s -o PROFILE.json.gz makes a profile of it", path);
	print_losses(session, numbers, damaged);
}

void numbers_print_stream(const struct session *session, const struct numbers *numbers,
			  const char *path, const struct stream_numbers *stream)
{
	struct numbers rest = *numbers;
	char size[32];

	print_size(stream->bytes, size, sizeof(size));
	log_info("wrote %s (%s): a raw capture of %" PRIu64 " samples, %" PRIu64 " lost", path,
		 size, stream->samples, numbers->lost);
	log_more("geckobpf convert %s -o PROFILE.json.gz makes a profile of it", path);
	if (stream->missed)
		log_warn("%" PRIu64 " samples were overwritten before they could be written into "
			 "%s; give a larger --buffer-size",
			 stream->missed, path);
	/* It has what the buffer has no more, and what was forgotten. */
	rest.overwritten = 0;
	rest.expired = (struct expire_counts){0};
	print_losses(session, &rest, stream->damaged);
}

/* Without memory for its name it is left out. */
static void print_hot(FILE *file, const struct profile_hot *hot, uint64_t samples)
{
	struct label label = {0};

	if (!label_function(&label, &hot->function))
		fprintf(file, "%5.1f %% %9" PRIu64 "  %.*s\n",
			(double)hot->self_samples * 100 / (double)samples, hot->self_samples,
			(int)label.count, label.items);
	label_clear(&label);
}

void numbers_print_top(const char *path, const struct profile_summary *summary)
{
	FILE *file = strcmp(path, "-") ? stdout : stderr;
	size_t i;

	for (i = 0; i < summary->top_count; i++)
		print_hot(file, &summary->top[i], summary->samples);
}
