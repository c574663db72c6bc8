/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko.c - see gecko.h: the document around the processes.
 *
 *   { meta, libs: [], threads: [], ..., processes: [ one a program image ], profilingLog, profileGatheringLog }
 */
#include "format/gecko.h"

#include <errno.h>
#include <stdlib.h>

#include "base/deflater.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/stages.h"
#include "format/document.h"
#include "format/gecko_meta.h"
#include "format/gecko_process.h"
#include "format/gecko_thread.h"
#include "format/json.h"
#include "format/logs.h"
#include "format/marker_json.h"
#include "format/meta.h"
#include "format/overhead_json.h"
#include "format/sleep_rows.h"
#include "format/spool.h"
#include "profile/profile.h"
#include "profile/sink.h"

/* JavaScript files; the front-end wants the table. */
#define SOURCES                                                                                    \
	"{\"schema\":{\"id\":0,\"filename\":1,\"startLine\":2,\"startColumn\":3,"                  \
	"\"sourceMapURL\":4},\"data\":[]}"

struct gecko {
	struct profile_sink sink; /* the first member */
	struct document document;
	struct deflater *deflater; /* NULL: the output wants plain text */
	struct spool_pool *pool;
	struct marker_text *marker_text;
	struct gecko_process *process; /* NULL: none has begun */
	bool has_process; /* the first one tells of the whole recording */
	uint64_t intervals_per_row; /* of long sleeps, see sleep_rows.h */
};

static struct gecko *gecko_of(struct profile_sink *sink)
{
	return (struct gecko *)sink;
}

/* ---- processes and rows -------------------------------------------------------------------- */

static int begin_process(struct profile_sink *sink, struct profile_process *process)
{
	struct gecko *gecko = gecko_of(sink);
	const struct recording_facts *whole = profile_whole(gecko->document.input);
	int err =
		gecko_process_open(&gecko->process, process, gecko->intervals_per_row, gecko->pool);

	if (!err && !gecko->has_process && overhead_json_known(whole))
		gecko->process->overhead = whole;
	gecko->has_process = true;
	return err;
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

static int add_marker(struct profile_sink *sink, struct profile_thread *thread,
		      const struct profile_marker *marker)
{
	const struct gecko *gecko = gecko_of(sink);
	struct gecko_thread *of = thread->of_sink;

	return gecko_markers_add(&of->markers, marker, gecko->marker_text, gecko->pool);
}

static int add_point(struct profile_sink *sink, const struct profile_point *point)
{
	const struct gecko *gecko = gecko_of(sink);

	return gecko_counters_add(&gecko->process->counters, point, gecko->pool);
}

static int end_process(struct profile_sink *sink, struct profile_process *process,
		       struct progress *progress)
{
	struct gecko *gecko = gecko_of(sink);
	struct progress writing;
	int err;

	stages_enter(gecko->document.input->stages, "writing");
	progress_split(&writing, progress, 1, "writing", gecko_process_row_bytes(gecko->process));
	gecko->document.writing = &writing;
	err = gecko_process_write(gecko->process, gecko->document.json);
	gecko->document.writing = NULL;
	progress_end(&writing);
	gecko_process_close(gecko->process);
	gecko->process = NULL;
	return err;
}

/* ---- the document ---------------------------------------------------------------------------- */

static void begin_document(struct gecko *gecko)
{
	const struct recording_facts *facts = profile_whole(gecko->document.input);
	struct json *json = gecko->document.json;

	json_object_begin(json);
	json_key(json, "meta");
	gecko_meta_write(json, gecko->document.input);
	json_key_literal(json, "libs", "[]");
	json_key_literal(json, "threads", "[]");
	meta_write_pauses(json, facts);
	json_key_literal(json, "sources", SOURCES);
	json_key(json, "processes");
	json_array_begin(json);
}

static int end_document(struct profile_sink *sink, const struct profile_summary *summary)
{
	struct gecko *gecko = gecko_of(sink);
	struct json *json = gecko->document.json;

	json_array_end(json);
	json_key(json, "profilingLog");
	json_object_begin(json);
	logs_write_whole(json, gecko->document.input, summary, spool_pool_spilled(gecko->pool));
	if (gecko->intervals_per_row > 1)
		json_key_u64(json, "sleep_intervals_per_row", gecko->intervals_per_row);
	json_object_end(json);
	logs_write_stages(json, gecko->document.input);
	json_object_end(json);
	return json_flush(json);
}

static void close_gecko(struct profile_sink *sink)
{
	struct gecko *gecko = gecko_of(sink);

	gecko_process_close(gecko->process);
	document_close(&gecko->document);
	marker_text_close(gecko->marker_text);
	spool_pool_close(gecko->pool);
	deflater_close(gecko->deflater);
	free(gecko);
}

static const struct profile_sink_ops gecko_ops = {
	.begin_process = begin_process,
	.begin_thread = begin_thread,
	.row = add_row,
	.marker = add_marker,
	.point = add_point,
	.end_process = end_process,
	.end = end_document,
	.close = close_gecko,
};

static int open_gecko(struct gecko *gecko, const struct profile_input *input, struct output *output)
{
	int err = document_open(&gecko->document, input, output);

	if (!err && output_splices(output))
		err = deflater_open(&gecko->deflater);
	if (!err)
		err = marker_text_open(&gecko->marker_text);
	return err ? err : spool_pool_open(&gecko->pool, 0, gecko->deflater);
}

int gecko_open(struct profile_sink **out, const struct profile_input *input, struct output *output)
{
	struct gecko *gecko = calloc(1, sizeof(*gecko));
	int err;

	if (!gecko)
		return -ENOMEM;
	gecko->sink.ops = &gecko_ops;
	gecko->sink.addresses = ADDRESSES_BEHIND_CALLS;
	err = open_gecko(gecko, input, output);
	if (!err)
		err = sleep_rows_plan(input, SLEEP_ROWS_MAX, &gecko->intervals_per_row);
	if (err) {
		close_gecko(&gecko->sink);
		return err;
	}
	begin_document(gecko);
	*out = &gecko->sink;
	return 0;
}
