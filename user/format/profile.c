/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - the document around the processes.
 *
 *   { meta, libs: [], threads: [], ..., processes: [ one a program image ], profilingLog, profileGatheringLog }
 */
#include "format/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "format/json.h"
#include "format/label.h"
#include "format/libs.h"
#include "format/meta.h"
#include "base/output.h"
#include "base/deflater.h"
#include "format/process_writer.h"
#include "format/spool.h"
#include "format/tally.h"
#include "target/process.h"

/* JavaScript files; the front-end wants the table. */
#define SOURCES                                                                                    \
	"{\"schema\":{\"id\":0,\"filename\":1,\"startLine\":2,\"startColumn\":3,"                  \
	"\"sourceMapURL\":4},\"data\":[]}"

static void leave_compressing(struct profile_pass *pass, const char *before, size_t size)
{
	if (before)
		stages_enter(pass->input->stages, before);
	else
		stages_end(pass->input->stages);
	progress_add(pass->writing, size);
}

static int write_to_output(void *context, const void *data, size_t size)
{
	struct profile_pass *pass = context;
	const char *before = stages_enter(pass->input->stages, "compressing");
	int err = output_write(pass->output, data, size);

	leave_compressing(pass, before, size);
	return err;
}

static int splice_to_output(void *context, const struct piece *piece)
{
	struct profile_pass *pass = context;
	const char *before = stages_enter(pass->input->stages, "compressing");
	int err = output_splice(pass->output, piece);

	leave_compressing(pass, before, piece->plain_size);
	return err;
}

static void close_pass(struct profile_pass *pass)
{
	json_close(pass->json);
	spool_pool_close(pass->pool);
	deflater_close(pass->deflater);
	tally_close(pass->tally);
}

static int open_pass(struct profile_pass *pass, const struct profile_input *input,
		     struct output *output)
{
	const struct json_sink sink = {write_to_output, pass, splice_to_output};
	int err;

	memset(pass, 0, sizeof(*pass));
	pass->input = input;
	pass->output = output;
	err = json_open(&pass->json, &sink);
	if (!err)
		err = output_splices(output) ? deflater_open(&pass->deflater) : 0;
	if (!err)
		err = spool_pool_open(&pass->pool, 0, pass->deflater);
	if (!err)
		err = tally_open(&pass->tally);
	return err;
}

static const struct recording_facts *whole_of(const struct profile_input *input)
{
	return input->whole ? input->whole : input->recording.facts;
}

/* Who was asked for is shown even if it never ran, but only as what it was at the end. */
static bool keeps_empty(const struct profile_pass *pass, const struct process *process)
{
	if (!process->is_root ||
	    processes_latest(pass->source->recording.processes, process->tgid) != process)
		return false;
	return !process->died_ns || process->died_ns > pass->source->recording.facts->start_ns;
}

/* The process that stands for a recording without samples: the first root, or else the first. */
static struct process *first_process(struct processes *processes)
{
	size_t i;

	for (i = 0; i < processes_count(processes); i++) {
		if (processes_at(processes, i)->is_root)
			return processes_at(processes, i);
	}
	return i ? processes_at(processes, 0) : NULL;
}

/* What a process takes to write: bytes of its buffer, and something for itself. */
static uint64_t work_of(const struct process *process)
{
	struct profile_buffer_state state;

	if (!process->buffer)
		return 1;
	state = profile_buffer_get_state(process->buffer);
	return 1 + state.range_end - state.range_start;
}

static uint64_t work_of_all(const struct profile_input *source)
{
	uint64_t work = 0;
	size_t i;

	for (; source; source = source->next)
		for (i = 0; i < processes_count(source->recording.processes); i++)
			work += work_of(processes_at(source->recording.processes, i));
	return work;
}

static int write_each_process(struct profile_pass *pass, struct progress *all)
{
	struct processes *processes = pass->source->recording.processes;
	struct progress part;
	size_t i;
	int err = 0;

	for (i = 0; i < processes_count(processes) && !err; i++) {
		struct process *process = processes_at(processes, i);

		progress_split(&part, all, work_of(process), NULL, PROCESS_UNITS);
		err = process_write(pass, process, keeps_empty(pass, process), &part);
		progress_end(&part);
	}
	return err;
}

static int write_source(struct profile_pass *pass, const struct profile_input *source,
			struct progress *all)
{
	struct process *first;
	int err = libs_open(&pass->libs, pass->input->symbolizer);

	if (err)
		return err;
	pass->source = source;
	err = write_each_process(pass, all);
	/* A profile without threads is refused. */
	first = pass->summary.processes || source->next
			? NULL
			: first_process(source->recording.processes);
	if (first && !err)
		err = process_write(pass, first, true, NULL);
	if (!err)
		err = libs_list_unnamed(pass->libs, &pass->summary.unnamed);
	pass->summary.damaged += recording_damaged(source->recording.processes);
	libs_close(pass->libs);
	return err;
}

static int write_processes(struct profile_pass *pass)
{
	const struct profile_input *source;
	struct progress all;
	int err = 0;

	progress_split(&all, pass->input->progress, 1, NULL, work_of_all(pass->input));
	json_key(pass->json, "processes");
	json_array_begin(pass->json);
	for (source = pass->input; source && !err; source = source->next)
		err = write_source(pass, source, &all);
	json_array_end(pass->json);
	progress_end(&all);
	return err;
}

/* How user stacks ended, by reason. */
static void write_stack_ends(struct json *json, const uint64_t *ends)
{
	unsigned int end;

	json_key(json, "user_stacks");
	json_object_begin(json);
	json_key_u64(json, "complete", ends[GB_STACK_COMPLETE]);
	json_key_u64(json, "none, the thread exits or execs", ends[GB_STACK_NO_MEMORY]);
	for (end = 0; end < GB_STACK_END_COUNT; end++)
		if (label_stack_end(end))
			json_key_u64(json, label_stack_end(end), ends[end]);
	json_object_end(json);
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

/* Files that were found, but not as they were recorded. */
static void write_other_builds(struct json *json, const struct profile_files *files)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < files->count; i++)
		count += files->items[i].trouble == SYMBOL_TROUBLE_OTHER_BUILD;
	if (count)
		json_key_u64(json, "files_of_another_build", count);
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

static void write_log(const struct profile_pass *pass)
{
	const struct recording_facts *facts = whole_of(pass->input);
	struct json *json = pass->json;
	size_t i;

	json_key(json, "profilingLog");
	json_object_begin(json);
	json_key(json, "geckobpf");
	json_object_begin(json);
	write_facts(json, facts);
	json_key_u64(json, "samples_lost_damaged", pass->summary.damaged);
	json_key_u64(json, "rows_out_of_order", pass->clamped_count);
	json_key_u64(json, "bytes_spilled", spool_pool_spilled(pass->pool));
	write_stack_ends(json, pass->summary.stack_ends);
	write_other_builds(json, &pass->summary.unnamed);
	json_object_end(json);
	for (i = 0; i < facts->part_count; i++)
		write_part(json, &facts->parts[i]);
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

/* How this profile was made, up to here: all but this text and the logs has gone through the compression. */
static void write_gathering_log(const struct profile_pass *pass)
{
	struct stages *stages = pass->input->stages;
	struct json *json = pass->json;
	char pid[16];
	size_t i;

	if (!stages)
		return;
	(void)json_flush(json); /* its error sticks */
	stages_end(stages);
	snprintf(pid, sizeof(pid), "%u", whole_of(pass->input)->writer_pid);
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

static int write_profile(struct profile_pass *pass)
{
	struct json *json = pass->json;
	int err;

	json_object_begin(json);
	json_key(json, "meta");
	meta_write(json, whole_of(pass->input), pass->input->symbolizer);
	json_key_literal(json, "libs", "[]");
	json_key_literal(json, "threads", "[]");
	meta_write_pauses(json, whole_of(pass->input));
	json_key_literal(json, "sources", SOURCES);
	err = write_processes(pass);
	write_log(pass);
	write_gathering_log(pass);
	json_object_end(json);
	return err ? err : json_flush(json);
}

static void clear_files(struct profile_files *files)
{
	size_t i;

	for (i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

static int compare_files(const void *a, const void *b)
{
	const struct profile_file *left = a, *right = b;

	if (left->samples != right->samples)
		return left->samples < right->samples ? 1 : -1;
	return strcmp(left->path, right->path);
}

int profile_write(const struct profile_input *input, struct output *output,
		  struct profile_summary *summary)
{
	struct profile_pass pass;
	int err = open_pass(&pass, input, output);

	if (!err)
		err = write_profile(&pass);
	if (!err && pass.summary.unnamed.count)
		qsort(pass.summary.unnamed.items, pass.summary.unnamed.count,
		      sizeof(struct profile_file), compare_files);
	if (!err) {
		pass.summary.top_count = summary->top_count;
		err = tally_top(pass.tally, &pass.summary.top, &pass.summary.top_count);
	}
	if (!err)
		*summary = pass.summary;
	else
		clear_files(&pass.summary.unnamed);
	close_pass(&pass);
	return err;
}

void profile_summary_clear(struct profile_summary *summary)
{
	tally_free_top(summary->top, summary->top_count);
	clear_files(&summary->unnamed);
	memset(summary, 0, sizeof(*summary));
}
