/* SPDX-License-Identifier: BSD-2-Clause */
/* logs.c - see logs.h. */
#include "format/logs.h"

#include <stdio.h>

#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "format/json.h"
#include "format/pid_text.h"
#include "profile/profile.h"
#include "target/process.h"

/* How user stacks ended, by reason. */
static void write_stack_ends(struct json *json, const uint64_t *ends)
{
	unsigned int end;

	json_key(json, "user_stacks");
	json_object_begin(json);
	json_key_u64(json, "complete", ends[GB_STACK_COMPLETE]);
	json_key_u64(json, "none, the thread exits or execs", ends[GB_STACK_NO_MEMORY]);
	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (profile_stack_end(end))
			json_key_u64(json, profile_stack_end(end), ends[end]);
	json_object_end(json);
}

/* The same of sleeps, if there are any. */
static void write_sleep_ends(struct json *json, const uint64_t *ends)
{
	uint64_t all = 0, cut = 0;
	unsigned int end;

	for (end = 0; end < GB_STACK_END_COUNT; end++) {
		all += ends[end];
		cut += profile_stack_end(end) ? ends[end] : 0;
	}
	if (!all)
		return;
	json_key_u64(json, "sleeps_with_whole_stack", ends[GB_STACK_COMPLETE]);
	json_key_u64(json, "sleeps_without_stack", ends[GB_STACK_NOT_TAKEN]);
	json_key_u64(json, "sleeps_with_cut_stack", cut - ends[GB_STACK_NOT_TAKEN]);
}

static void write_fact(struct json *json, const struct recording_fact *fact)
{
	if (fact->text)
		json_key_string(json, fact->name, fact->text);
	else
		json_key_u64(json, fact->name, fact->value);
}

static void write_facts(struct json *json, const struct recording_facts *facts)
{
	size_t i;

	if (facts->version)
		json_key_string(json, "version", facts->version);
	for (i = 0; i < facts->log_count; i++)
		write_fact(json, &facts->log[i]);
}

static void write_trouble(struct json *json, const struct profile_files *files,
			  enum symbol_trouble trouble, const char *name)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < files->count; i++)
		count += files->items[i].trouble == trouble;
	if (count)
		json_key_u64(json, name, count);
}

/* Of the samples that were recorded, those that are in no row with a stack, and in no counter of the recording. */
static void write_not_shown(struct json *json, const struct profile_summary *summary)
{
	if (summary->before_begin)
		json_key_u64(json, "samples_before_begin", summary->before_begin);
	if (summary->stackless)
		json_key_u64(json, "samples_without_stack", summary->stackless);
}

/* One of several recordings, in a log of its own. */
static void write_part(struct json *json, const struct recording_part *part)
{
	const struct recording_facts *facts = part->facts;

	json_key(json, part->name);
	json_object_begin(json);
	if (facts->product)
		json_key_string(json, "product", facts->product);
	if (facts->oscpu)
		json_key_string(json, "oscpu", facts->oscpu);
	if (facts->boot_id)
		json_key_string(json, "boot_id", facts->boot_id);
	json_key_time_ms(json, "startTime", (int64_t)facts->start_real_ns);
	json_key_time_ms(json, "duration_ms", (int64_t)(facts->end_ns - facts->start_ns));
	write_facts(json, facts);
	json_object_end(json);
}

static void write_own(struct json *json, const struct recording_facts *facts,
		      const struct profile_summary *summary, uint64_t spilled_bytes)
{
	json_key(json, "geckobpf");
	json_object_begin(json);
	write_facts(json, facts);
	json_key_u64(json, "samples_lost_damaged", summary->damaged);
	write_not_shown(json, summary);
	json_key_u64(json, "rows_out_of_order", summary->clamped);
	json_key_u64(json, "processes_gathered", summary->gathered.processes);
	json_key_u64(json, "processes_gathered_cpu_ns", summary->gathered.cpu_ns);
	json_key_u64(json, "images_folded", summary->gathered.folded);
	json_key_u64(json, "bytes_spilled", spilled_bytes);
	write_stack_ends(json, summary->stack_ends);
	write_sleep_ends(json, summary->sleep_ends);
	/* Files that were found, but not as they were recorded; and those that cost more than they may. */
	write_trouble(json, &summary->unnamed, SYMBOL_TROUBLE_OTHER_BUILD,
		      "files_of_another_build");
	write_trouble(json, &summary->unnamed, SYMBOL_TROUBLE_TOO_LARGE, "files_of_large_symbols");
	write_trouble(json, &summary->unnamed, SYMBOL_TROUBLE_LATE, "files_read_too_slowly");
	write_trouble(json, &summary->unnamed, SYMBOL_TROUBLE_DIED, "files_of_readers_that_died");
	json_object_end(json);
}

void logs_write_whole(struct json *json, const struct profile_input *input,
		      const struct profile_summary *summary, uint64_t spilled_bytes)
{
	const struct recording_facts *facts = profile_whole(input);
	size_t i;

	write_own(json, facts, summary, spilled_bytes);
	for (i = 0; i < facts->part_count; i++)
		write_part(json, &facts->parts[i]);
}

bool logs_has_process(const struct process *process)
{
	struct profile_buffer_state state;

	if (!process->buffer)
		return false;
	state = profile_buffer_get_state(process->buffer);
	return state.cleared || state.damaged;
}

void logs_write_process(struct json *json, const struct process *process)
{
	struct profile_buffer_state state = profile_buffer_get_state(process->buffer);
	char pid[PID_TEXT_BYTES];

	json_key(json, pid_text(pid, process));
	json_object_begin(json);
	json_key_u64(json, "samples_recorded", state.samples_pushed);
	json_key_u64(json, "samples_overwritten", state.samples_cleared);
	json_key_u64(json, "samples_lost_damaged", state.damaged);
	json_object_end(json);
}

static void write_stage(struct json *json, const struct stage *stage)
{
	json_object_begin(json);
	json_key_string(json, "name", stage->name);
	json_key_time_ms(json, "duration_ms", (int64_t)stage->duration_ns);
	json_key_u64(json, "rss_bytes", stage->rss_bytes);
	json_key_u64(json, "peak_rss_bytes", stage->peak_bytes);
	json_object_end(json);
}

void logs_write_stages(struct json *json, const struct profile_input *input)
{
	struct stages *stages = input->stages;
	char pid[16];
	size_t i;

	if (!stages)
		return;
	(void)json_flush(json); /* its error sticks */
	stages_end(stages);
	snprintf(pid, sizeof(pid), "%u", profile_whole(input)->writer_pid);
	json_key(json, "profileGatheringLog");
	json_object_begin(json);
	json_key(json, pid);
	json_object_begin(json);
	json_key(json, "phases");
	json_array_begin(json);
	for (i = 0; i < stages->count; i++)
		write_stage(json, &stages->items[i]);
	json_array_end(json);
	json_object_end(json);
	json_object_end(json);
}
