/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed.c - see processed.h.
 *
 * Threads have a pool of spools, stacks and counters another: one is empty whenever a process has ended, so that what it
 * spilled is forgotten, the other never.
 */
#include "format/processed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/deflater.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/stages.h"
#include "format/busiest.h"
#include "format/document.h"
#include "format/json.h"
#include "format/logs.h"
#include "format/marker_json.h"
#include "format/overhead_json.h"
#include "format/pid_text.h"
#include "format/processed_code.h"
#include "format/processed_counters.h"
#include "format/processed_meta.h"
#include "format/processed_process.h"
#include "format/processed_stacks.h"
#include "format/spool.h"
#include "profile/model.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "target/process.h"

struct spools {
	struct deflater *deflater; /* NULL: the output wants plain text */
	struct spool_pool *pool;
};

struct processed {
	struct profile_sink sink; /* the first member */
	struct document document;
	struct spools of_threads, of_stacks;
	struct processed_code *code;
	struct processed_stacks stacks;
	struct processed_counters counters;
	struct marker_text *marker_text;
	struct processed_process *process; /* NULL: none has begun */
	struct processed_shown shown;
	uint32_t thread_count;
	char first_pid[PID_TEXT_BYTES]; /* of the first process; "": there is none */
	uint32_t first_thread;
};

static struct processed *processed_of(struct profile_sink *sink)
{
	return (struct processed *)sink;
}

/* ---- processes and rows -------------------------------------------------------------------- */

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	struct processed *processed = processed_of(sink);
	const struct processed_tables tables = {processed->code, &processed->stacks,
						processed->of_threads.pool, processed->marker_text};
	int err = processed->thread_count ? processed_stacks_share(&processed->stacks) : 0;

	return err ? err : processed_process_open(&processed->process, process, &tables);
}

static int begin_thread(struct profile_sink *sink, struct profile_thread *thread)
{
	return processed_process_thread(processed_of(sink)->process, thread);
}

static int add_row(struct profile_sink *sink, struct profile_thread *thread,
		   const struct profile_row *row)
{
	return processed_process_row(processed_of(sink)->process, thread, row);
}

static int add_marker(struct profile_sink *sink, struct profile_thread *thread,
		      const struct profile_marker *marker)
{
	return processed_process_marker(processed_of(sink)->process, thread, marker);
}

static int add_point(struct profile_sink *sink, const struct profile_point *point)
{
	struct processed *processed = processed_of(sink);

	return processed_counters_add(&processed->counters, point, processed->of_stacks.pool);
}

/* A process that was asked for is shown, however little it did. 0 or -ENOMEM. */
static int keep_target(struct processed *processed, const struct profile_process *process)
{
	struct processed_shown *shown = &processed->shown;

	shown->has_target = true;
	shown->target = processed->thread_count;
	if (!process->facts->include_args)
		return 0;
	shown->arguments = strndup(process->name, process->name_length);
	return shown->arguments ? 0 : -ENOMEM;
}

static int show_thread(struct processed *processed, const struct profile_thread *thread)
{
	struct processed_shown *shown = &processed->shown;
	int err = 0;

	busiest_add(&shown->busiest, processed->thread_count, processed_process_cpu_ns(thread));
	if (!shown->has_target && thread->process->process->is_root && profile_is_main(thread))
		err = keep_target(processed, thread->process);
	processed->thread_count++;
	return err;
}

/* Its main thread is written. */
static void end_counters(struct processed *processed, const struct profile_process *process)
{
	processed_counters_end(&processed->counters, process->process, processed->thread_count);
	if (processed->first_pid[0])
		return;
	(void)pid_text(processed->first_pid, process->process);
	processed->first_thread = processed->thread_count;
}

static int write_threads(struct processed *processed, const struct profile_process *process)
{
	size_t i;
	int err = 0;

	for (i = 0; i < process->thread_count && !err; i++) {
		err = processed_process_write_thread(process->threads[i], processed->document.json);
		if (profile_is_main(process->threads[i]))
			end_counters(processed, process);
		if (!err)
			err = show_thread(processed, process->threads[i]);
	}
	return err;
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	struct processed *processed = processed_of(sink);
	struct progress writing;
	int err;

	stages_enter(processed->document.input->stages, "writing");
	progress_split(&writing, progress, 1, "writing",
		       processed_process_bytes(processed->process));
	processed->document.writing = &writing;
	err = write_threads(processed, process);
	processed->document.writing = NULL;
	progress_end(&writing);
	processed_process_close(processed->process);
	processed->process = NULL;
	return err;
}

/* ---- the document ---------------------------------------------------------------------------- */

static int write_shared(struct processed *processed)
{
	struct json *json = processed->document.json;
	int err;

	json_key(json, "libs");
	processed_code_write_libs(processed->code, json);
	json_key(json, "shared");
	json_object_begin(json);
	err = processed_stacks_write(&processed->stacks, json);
	processed_code_write(processed->code, json);
	json_object_end(json);
	return err;
}

/* Of all recordings. */
static void write_process_logs(struct json *json, const struct profile_input *source)
{
	size_t i;

	for (; source; source = source->next)
		for (i = 0; i < processes_count(source->recording.processes); i++) {
			const struct process *process =
				processes_at(source->recording.processes, i);

			if (logs_has_process(process))
				logs_write_process(json, process);
		}
}

static void write_logs(struct processed *processed, const struct profile_summary *summary)
{
	const struct profile_input *input = processed->document.input;
	struct json *json = processed->document.json;

	json_key(json, "profilingLog");
	json_object_begin(json);
	logs_write_whole(json, input, summary,
			 spool_pool_spilled(processed->of_threads.pool) +
				 spool_pool_spilled(processed->of_stacks.pool));
	write_process_logs(json, input);
	json_object_end(json);
	logs_write_stages(json, input);
}

static void write_overhead(struct processed *processed)
{
	const struct recording_facts *whole = profile_whole(processed->document.input);
	struct json *json = processed->document.json;

	if (!processed->first_pid[0] || !overhead_json_known(whole))
		return;
	json_key(json, "profilerOverhead");
	json_array_begin(json);
	json_object_begin(json);
	overhead_json_processed(json, whole, processed->first_pid, processed->first_thread);
	json_object_end(json);
	json_array_end(json);
}

static int end_document(struct profile_sink *sink, const struct profile_summary *summary)
{
	struct processed *processed = processed_of(sink);
	struct document *document = &processed->document;
	int err;

	stages_enter(document->input->stages, "writing");
	json_array_end(document->json);
	err = write_shared(processed);
	if (!err)
		err = processed_counters_write(&processed->counters, document->json);
	write_overhead(processed);
	json_key(document->json, "meta");
	processed_meta_write(document->json, document->input, &processed->shown, summary);
	write_logs(processed, summary);
	json_object_end(document->json);
	return err ? err : json_flush(document->json);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int open_spools(struct spools *spools, const struct output *output)
{
	int err = output_splices(output) ? deflater_open(&spools->deflater) : 0;

	return err ? err : spool_pool_open(&spools->pool, 0, spools->deflater);
}

static void close_spools(struct spools *spools)
{
	spool_pool_close(spools->pool);
	deflater_close(spools->deflater);
}

static void close_processed(struct profile_sink *sink)
{
	struct processed *processed = processed_of(sink);

	processed_process_close(processed->process);
	processed_stacks_close(&processed->stacks);
	processed_counters_clear(&processed->counters);
	processed_code_close(processed->code);
	document_close(&processed->document);
	marker_text_close(processed->marker_text);
	close_spools(&processed->of_threads);
	close_spools(&processed->of_stacks);
	free(processed->shown.arguments);
	free(processed);
}

static int open_processed(struct processed *processed, const struct profile_input *input,
			  struct output *output)
{
	int err = document_open(&processed->document, input, output);

	if (!err)
		err = open_spools(&processed->of_threads, output);
	if (!err)
		err = open_spools(&processed->of_stacks, output);
	if (!err)
		err = processed_code_open(&processed->code, input->max_frames);
	if (!err)
		err = marker_text_open(&processed->marker_text);
	return err ? err : processed_stacks_open(&processed->stacks, processed->of_stacks.pool);
}

static const struct profile_sink_ops processed_ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.marker = add_marker,
	.point = add_point,
	.end_process = end_process,
	.end = end_document,
	.close = close_processed,
};

int processed_open(struct profile_sink **out, const struct profile_input *input,
		   struct output *output)
{
	struct processed *processed = calloc(1, sizeof(*processed));
	int err;

	if (!processed)
		return -ENOMEM;
	processed->sink.ops = &processed_ops;
	processed->sink.addresses = ADDRESSES_OF_CALLS;
	processed->sink.has_files = true;
	err = open_processed(processed, input, output);
	if (err) {
		close_processed(&processed->sink);
		return err;
	}
	json_object_begin(processed->document.json);
	json_key(processed->document.json, "threads");
	json_array_begin(processed->document.json);
	*out = &processed->sink;
	return 0;
}
