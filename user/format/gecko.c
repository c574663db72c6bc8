/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko.c - see gecko.h: the document around the processes.
 *
 *   { meta, libs: [], threads: [], ..., processes: [ one a program image ], profilingLog, profileGatheringLog }
 */
#include "format/gecko.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/deflater.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/stages.h"
#include "format/gecko_meta.h"
#include "format/gecko_process.h"
#include "format/gecko_thread.h"
#include "format/json.h"
#include "format/label.h"
#include "format/spool.h"
#include "profile/profile.h"
#include "profile/sink.h"

/* JavaScript files; the front-end wants the table. */
#define SOURCES                                                                                    \
	"{\"schema\":{\"id\":0,\"filename\":1,\"startLine\":2,\"startColumn\":3,"                  \
	"\"sourceMapURL\":4},\"data\":[]}"

struct gecko {
	struct profile_sink sink; /* the first member */
	const struct profile_input *input;
	struct output *output;
	struct json *json;
	struct deflater *deflater; /* NULL: the output wants plain text */
	struct spool_pool *pool;
	struct gecko_process *process; /* NULL: none has begun */
	struct progress *writing; /* counts bytes of JSON; NULL: nobody does */
};

static struct gecko *gecko_of(struct profile_sink *sink)
{
	return (struct gecko *)sink;
}

/* ---- where the text goes ----------------------------------------------------------------- */

static void leave_compressing(struct gecko *gecko, const char *before, size_t size)
{
	if (before)
		stages_enter(gecko->input->stages, before);
	else
		stages_end(gecko->input->stages);
	progress_add(gecko->writing, size);
}

static int write_to_output(void *context, const void *data, size_t size)
{
	struct gecko *gecko = context;
	const char *before = stages_enter(gecko->input->stages, "compressing");
	int err = output_write(gecko->output, data, size);

	leave_compressing(gecko, before, size);
	return err;
}

static int splice_to_output(void *context, const struct piece *piece)
{
	struct gecko *gecko = context;
	const char *before = stages_enter(gecko->input->stages, "compressing");
	int err = output_splice(gecko->output, piece);

	leave_compressing(gecko, before, piece->plain_size);
	return err;
}

/* ---- processes and rows -------------------------------------------------------------------- */

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	struct gecko *gecko = gecko_of(sink);

	return gecko_process_open(&gecko->process, process, gecko->pool);
}

static int begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	return gecko_process_add_thread(gecko_of(sink)->process, thread);
}

static int add_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	return gecko_thread_add(thread->of_sink, row);
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	struct gecko *gecko = gecko_of(sink);
	struct progress writing;
	int err;

	stages_enter(gecko->input->stages, "writing");
	progress_split(&writing, progress, 1, "writing", gecko_process_row_bytes(gecko->process));
	gecko->writing = &writing;
	err = gecko_process_write(gecko->process, gecko->json);
	gecko->writing = NULL;
	progress_end(&writing);
	gecko_process_close(gecko->process);
	gecko->process = NULL;
	return err;
}

/* ---- the logs ------------------------------------------------------------------------------ */

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

static void write_own_log(const struct gecko *gecko, const struct profile_summary *summary)
{
	struct json *json = gecko->json;

	json_key(json, "geckobpf");
	json_object_begin(json);
	write_facts(json, profile_whole(gecko->input));
	json_key_u64(json, "samples_lost_damaged", summary->damaged);
	json_key_u64(json, "rows_out_of_order", summary->clamped);
	json_key_u64(json, "bytes_spilled", spool_pool_spilled(gecko->pool));
	write_stack_ends(json, summary->stack_ends);
	write_other_builds(json, &summary->unnamed);
	json_object_end(json);
}

static void write_log(const struct gecko *gecko, const struct profile_summary *summary)
{
	const struct recording_facts *facts = profile_whole(gecko->input);
	size_t i;

	json_key(gecko->json, "profilingLog");
	json_object_begin(gecko->json);
	write_own_log(gecko, summary);
	for (i = 0; i < facts->part_count; i++)
		write_part(gecko->json, &facts->parts[i]);
	json_object_end(gecko->json);
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
static void write_gathering_log(const struct gecko *gecko)
{
	struct stages *stages = gecko->input->stages;
	struct json *json = gecko->json;
	char pid[16];
	size_t i;

	if (!stages)
		return;
	(void)json_flush(json); /* its error sticks */
	stages_end(stages);
	snprintf(pid, sizeof(pid), "%u", profile_whole(gecko->input)->writer_pid);
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

/* ---- the document ---------------------------------------------------------------------------- */

static void begin_document(struct gecko *gecko)
{
	const struct recording_facts *facts = profile_whole(gecko->input);
	struct json *json = gecko->json;

	json_object_begin(json);
	json_key(json, "meta");
	gecko_meta_write(json, facts, gecko->input->symbolizer);
	json_key_literal(json, "libs", "[]");
	json_key_literal(json, "threads", "[]");
	gecko_meta_write_pauses(json, facts);
	json_key_literal(json, "sources", SOURCES);
	json_key(json, "processes");
	json_array_begin(json);
}

static int end_document(struct profile_sink *sink, const struct profile_summary *summary)
{
	struct gecko *gecko = gecko_of(sink);

	json_array_end(gecko->json);
	write_log(gecko, summary);
	write_gathering_log(gecko);
	json_object_end(gecko->json);
	return json_flush(gecko->json);
}

static void close_gecko(struct profile_sink *sink)
{
	struct gecko *gecko = gecko_of(sink);

	gecko_process_close(gecko->process);
	json_close(gecko->json);
	spool_pool_close(gecko->pool);
	deflater_close(gecko->deflater);
	free(gecko);
}

static const struct profile_sink_ops gecko_ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.end_process = end_process,
	.end = end_document,
	.close = close_gecko,
};

static int open_gecko(struct gecko *gecko)
{
	const struct json_sink text = {write_to_output, gecko, splice_to_output};
	int err = json_open(&gecko->json, &text);

	if (!err && output_splices(gecko->output))
		err = deflater_open(&gecko->deflater);
	return err ? err : spool_pool_open(&gecko->pool, 0, gecko->deflater);
}

int gecko_open(struct profile_sink **out, const struct profile_input *input, struct output *output)
{
	struct gecko *gecko = calloc(1, sizeof(*gecko));
	int err;

	if (!gecko)
		return -ENOMEM;
	gecko->sink.ops = &gecko_ops;
	gecko->input = input;
	gecko->output = output;
	err = open_gecko(gecko);
	if (err) {
		close_gecko(&gecko->sink);
		return err;
	}
	begin_document(gecko);
	*out = &gecko->sink;
	return 0;
}

int gecko_write(const struct profile_input *input, struct output *output,
		struct profile_summary *summary)
{
	struct profile_sink *sink;
	int err = gecko_open(&sink, input, output);

	if (err)
		return err;
	err = profile_walk(input, sink, summary);
	sink->ops->close(sink);
	return err;
}
