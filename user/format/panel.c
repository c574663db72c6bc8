/* SPDX-License-Identifier: BSD-2-Clause */
/* panel.c - see panel.h. A fact of the log that has no row is shown under its own name, among the counters. */
#include "format/panel.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "format/overhead_json.h"
#include "profile/profile.h"

#include "geckobpf_abi.h"

enum panel_section {
	SETTING,
	IMPORTANT_SETTING, /* in a list of texts, too */
	LOST_SAMPLES, /* they add up to what the summary says */
	LOST_OTHERS,
	COST,
	COUNTER,
};

static const struct panel_row {
	const char *fact, *words;
	enum panel_section section;
} rows[] = {
	{"options", "Options", IMPORTANT_SETTING},
	{"event", "Event", SETTING},
	{"sampling_rate_hz", "Samples a second", SETTING},
	{"period_ns", "Time between samples", SETTING},
	{"buffer_bytes", "Buffer", SETTING},
	{"recorder_priority", "Priority of the recorder", SETTING},
	{RECORDING_DEVICE, "Machine", SETTING},
	{RECORDING_MAIN_MEMORY, "Main memory", IMPORTANT_SETTING},
	{"kernel_release", "Kernel", SETTING},
	{"kernel_version", "Kernel's build", SETTING},
	{"fallback_rights", "Done without rights", IMPORTANT_SETTING},
	{"fallback_mappings", "Done without an event", IMPORTANT_SETTING},
	{"fallback_network", "Not counted", IMPORTANT_SETTING},
	{"fallback_build_ids", "Build ids", IMPORTANT_SETTING},
	{"fallback_stream", "Stream", IMPORTANT_SETTING},
	{"fallback_kernel_symbols", "Done without names", IMPORTANT_SETTING},
	{RECORDING_COST_SAMPLES, "Making samples, in the kernel", COST},
	{RECORDING_COST_LEAST, "A sample, in the least expensive second", COST},
	{RECORDING_COST_MOST, "A sample, in the most expensive second", COST},
	{"cost_bpf_ns", "All BPF programs", COST},
	{RECORDING_COST_CPU, "CPU time of the recorder", COST},
	{RECORDING_COST_MEMORY, "Memory of the recorder, at most", COST},
	{"samples_lost_ring_full", "Samples lost: the ring was full", LOST_SAMPLES},
	{"samples_lost_recursion", "Samples lost: the kernel skipped a BPF program", LOST_SAMPLES},
	{"samples_lost_buffer", "Samples lost: no room in the buffer", LOST_SAMPLES},
	{"samples_left_out_at_end", "Samples left out at the end: we were behind", LOST_SAMPLES},
	{"capture_samples_lost_damaged", "Samples missing in the stream: the buffer was damaged",
	 LOST_OTHERS},
	{"samples_overwritten", "Older samples overwritten: the buffer was full", LOST_OTHERS},
	{"timer_ticks_missed", "Timer ticks that did not come in time for a sample", LOST_OTHERS},
	{"timer_ticks_missed_own", "Of these: to take a sample took too long", LOST_OTHERS},
	{"timer_ticks_missed_throttled", "Of these: the kernel throttled the timer", LOST_OTHERS},
	{"timer_ticks_missed_other", "Of these: a hypervisor had the CPUs, or interrupts were off",
	 LOST_OTHERS},
	{"events_lost_ring_full", "Events lost: the ring was full", LOST_OTHERS},
	{"events_lost_recursion", "Events lost: the kernel skipped a BPF program", LOST_OTHERS},
	{"events_left_out_at_end", "Events left out at the end: we were behind", LOST_OTHERS},
	{"children_not_followed", "Children not recorded: too many processes", LOST_OTHERS},
	{"records_lost_memory", "Records lost: no memory", LOST_OTHERS},
	{"records_bad", "Records that make no sense", LOST_OTHERS},
	{"mappings_lost_ring_full", "Mappings lost: their ring was full", LOST_OTHERS},
	{"mappings_left_out", "Mappings forgotten: their process had too many", LOST_OTHERS},
	{"unwind_files_no_room", "Files whose unwind tables found no room: stacks may be cut",
	 LOST_OTHERS},
	{"files_not_opened_in_time", "Files that could not be opened in time: no names of them",
	 LOST_OTHERS},
	{"unwind_files_late", "Files whose unwind tables took too long: stacks may be cut",
	 LOST_OTHERS},
	{"unwind_files_reader_died", "Files that ended who read them: stacks may be cut",
	 LOST_OTHERS},
	{"unwind_files_bad_answer", "Files that misled who read them: stacks may be cut",
	 LOST_OTHERS},
	{"unwind_files_too_large", "Files whose unwind tables are too large: stacks may be cut",
	 LOST_OTHERS},
	{"unwind_processes_no_room", "Processes whose mappings found no room: stacks may be cut",
	 LOST_OTHERS},
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* NULL: it has none. */
static const struct panel_row *row_of(const char *fact)
{
	size_t i;

	for (i = 0; i < ROW_COUNT; i++)
		if (!strcmp(rows[i].fact, fact))
			return &rows[i];
	return NULL;
}

const char *panel_words(const char *fact)
{
	const struct panel_row *row = row_of(fact);

	return row ? row->words : NULL;
}

/* What was lost is told if there is any. */
static enum panel_section section_of(const struct recording_fact *fact)
{
	const struct panel_row *row = row_of(fact->name);

	if (!row)
		return COUNTER;
	if ((row->section == LOST_SAMPLES || row->section == LOST_OTHERS) && !fact->value)
		return COUNTER;
	return row->section;
}

static bool is_setting(enum panel_section section)
{
	return section == SETTING || section == IMPORTANT_SETTING;
}

static bool is_loss(enum panel_section section)
{
	return section == LOST_SAMPLES || section == LOST_OTHERS;
}

static bool is_cost(enum panel_section section)
{
	return section == COST;
}

static bool is_counter(enum panel_section section)
{
	return section == COUNTER;
}

static uint64_t count_lost(const struct recording_facts *facts)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (section_of(&facts->log[i]) == LOST_SAMPLES)
			count += facts->log[i].value;
	return count;
}

/* ---- extra information --------------------------------------------------------------------- */

static void begin_section(struct json *json, const char *label)
{
	json_object_begin(json);
	json_key_string(json, "label", label);
	json_key(json, "entries");
	json_array_begin(json);
}

static void end_section(struct json *json)
{
	json_array_end(json);
	json_object_end(json);
}

static void begin_entry(struct json *json, const char *label, const char *format)
{
	json_object_begin(json);
	json_key_string(json, "label", label);
	json_key_string(json, "format", format);
	json_key(json, "value");
}

static void write_text(struct json *json, const char *label, const char *text)
{
	begin_entry(json, label, "string");
	json_text(json, text);
	json_object_end(json);
}

static void write_number(struct json *json, const char *label, const char *format, uint64_t value)
{
	begin_entry(json, label, format);
	json_u64(json, value);
	json_object_end(json);
}

static bool ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length >= end_length && !strcmp(name + length - end_length, end);
}

/* Of a number, by its unit. */
static const char *format_of(const char *fact)
{
	if (ends_in(fact, "_bytes"))
		return "bytes";
	return ends_in(fact, "_ns") ? "nanoseconds" : "integer";
}

static void write_fact(struct json *json, const struct recording_fact *fact)
{
	enum panel_section section = section_of(fact);
	const char *label = section == COUNTER ? fact->name : panel_words(fact->name);

	if (fact->text)
		write_text(json, label, fact->text);
	else
		write_number(json, label, format_of(fact->name), fact->value);
}

static void write_facts(struct json *json, const struct recording_facts *facts,
			bool (*is_wanted)(enum panel_section section))
{
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (is_wanted(section_of(&facts->log[i])))
			write_fact(json, &facts->log[i]);
}

/* Where there is a user stack: it is whole, or it says why not. */
static void write_complete(struct json *json, const struct profile_summary *summary)
{
	int permille = profile_complete_permille(summary);

	if (permille < 0)
		return;
	begin_entry(json, "complete user stacks", "percentage");
	json_double(json, permille / 1000.0);
	json_object_end(json);
}

static void write_samples(struct json *json, const struct profile_summary *summary)
{
	unsigned int end;

	write_number(json, "in this profile", "integer", summary->samples);
	write_number(json, "lost, since the recording is damaged", "integer", summary->damaged);
	if (summary->before_begin)
		write_number(json, "left out, of a time that was overwritten", "integer",
			     summary->before_begin);
	if (summary->stackless)
		write_number(json, "without a stack", "integer", summary->stackless);
	write_number(json, "later than they should be", "integer", summary->clamped);
	write_number(json, "short processes that are shown as one", "integer",
		     summary->gathered.processes);
	write_complete(json, summary);
	write_number(json, "with a complete user stack", "integer",
		     summary->stack_ends[GB_STACK_COMPLETE]);
	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (profile_stack_end(end) && summary->stack_ends[end])
			write_number(json, profile_stack_end(end), "integer",
				     summary->stack_ends[end]);
}

/* Recordings of earlier versions do not say. */
static void write_cost(struct json *json, const struct recording_facts *facts)
{
	if (!overhead_json_known(facts))
		return;
	begin_section(json, "Cost");
	write_facts(json, facts, is_cost);
	end_section(json);
}

void panel_write_extra(struct json *json, const struct recording_facts *facts,
		       const struct profile_summary *summary)
{
	begin_section(json, "Recording");
	if (facts->version)
		write_text(json, "geckobpf", facts->version);
	write_facts(json, facts, is_setting);
	end_section(json);
	begin_section(json, "Lost");
	write_number(json, "Samples lost", "integer", count_lost(facts));
	write_facts(json, facts, is_loss);
	end_section(json);
	write_cost(json, facts);
	begin_section(json, "Samples");
	write_samples(json, summary);
	end_section(json);
	begin_section(json, "Counters");
	write_facts(json, facts, is_counter);
	end_section(json);
}

/* ---- a list of texts ------------------------------------------------------------------------ */

static void write_line(struct json *json, const struct recording_fact *fact)
{
	const char *words = panel_words(fact->name);
	char line[700];

	if (fact->text)
		snprintf(line, sizeof(line), "%s: %s", words, fact->text);
	else if (!strcmp(format_of(fact->name), "bytes"))
		snprintf(line, sizeof(line), "%s: %.1f GB", words, (double)fact->value / 1e9);
	else
		snprintf(line, sizeof(line), "%s: %" PRIu64, words, fact->value);
	json_text(json, line);
}

void panel_write_list(struct json *json, const struct recording_facts *facts)
{
	char line[64];
	size_t i;

	for (i = 0; i < facts->log_count; i++)
		if (section_of(&facts->log[i]) == IMPORTANT_SETTING)
			write_line(json, &facts->log[i]);
	snprintf(line, sizeof(line), "Samples lost: %" PRIu64, count_lost(facts));
	json_text(json, line);
	for (i = 0; i < facts->log_count; i++)
		if (is_loss(section_of(&facts->log[i])))
			write_line(json, &facts->log[i]);
}
