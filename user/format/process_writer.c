/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_writer.c - reads the buffer of one process into thread streams, then writes them one
 * after the other.
 *
 * Streams are made when a thread's first sample comes; threads without samples get theirs, and
 * its baseline, at the end.
 */
#include "format/process_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "base/stages.h"
#include "buffer/profile_buffer.h"
#include "format/frames.h"
#include "format/json.h"
#include "format/libs.h"
#include "format/meta.h"
#include "format/spool.h"
#include "format/stacks.h"
#include "format/tally.h"
#include "format/thread_stream.h"
#include "target/process.h"

/* Of PROCESS_UNITS; what is left goes to writing; most is compressed by then. */
#define READING_UNITS 75

struct writer_thread {
	const struct thread *thread; /* NULL: no thread has this number */
	struct thread_stream *stream; /* NULL: no samples so far */
};

struct process_writer {
	struct profile_pass *pass;
	struct process *process;
	struct frames *frames;
	struct stacks *stacks;
	struct thread_stream_source source;
	struct writer_thread *threads; /* by thread number */
	size_t thread_count;
	struct progress reading; /* in samples */
	uint64_t sample_count;
};

/* ---- opening ------------------------------------------------------------------------- */

static void close_writer(struct process_writer *writer)
{
	size_t i;

	for (i = 0; writer->threads && i < writer->thread_count; i++)
		thread_stream_close(writer->threads[i].stream);
	free(writer->threads);
	stacks_close(writer->stacks);
	frames_close(writer->frames);
}

static int open_writer(struct process_writer *writer, struct profile_pass *pass,
		       struct process *process)
{
	const struct recording_facts *facts = pass->source->recording.facts;
	struct frames_source source = {
		.process = process,
		.libs = pass->libs,
		.kernel = pass->source->kernel,
		.addresses = !pass->input->symbolizer,
	};
	const struct stacks_limits limits = {0};
	size_t i;
	int err;

	memset(writer, 0, sizeof(*writer));
	writer->pass = pass;
	writer->process = process;
	writer->thread_count = process->threads.numbers.top;
	/* One more, so that none is not an allocation of 0 bytes. */
	writer->threads = calloc(writer->thread_count + 1, sizeof(*writer->threads));
	if (!writer->threads)
		return -ENOMEM;
	for (i = 0; i < process->threads.count; i++)
		writer->threads[process->threads.items[i]->number].thread =
			process->threads.items[i];
	err = frames_open(&writer->frames, &source);
	if (!err)
		err = stacks_open(&writer->stacks, writer->frames, &limits);
	writer->source = (struct thread_stream_source){
		.frames = writer->frames,
		.stacks = writer->stacks,
		.pool = pass->pool,
		.start_ns = facts->start_ns,
		.end_ns = facts->end_ns,
		.lead_ns = facts->lead_ns,
		.interval_ns = facts->interval_ns,
		.is_cut = facts->is_cut,
	};
	return err;
}

/* ---- reading the buffer ---------------------------------------------------------------- */

static int on_restart(void *context)
{
	struct process_writer *writer = context;

	stacks_restart(writer->stacks);
	return 0;
}

static int on_node(void *context, uint32_t number, uint32_t prefix, const struct frame *frame)
{
	struct process_writer *writer = context;
	const struct frame_node node = {.frame = *frame, .prefix = prefix};

	return stacks_add_node(writer->stacks, number, &node);
}

static int need_stream(struct process_writer *writer, uint32_t number)
{
	struct writer_thread *at;

	if (number >= writer->thread_count || !writer->threads[number].thread)
		return -EBADMSG;
	at = &writer->threads[number];
	if (at->stream)
		return 0;
	return thread_stream_open(&at->stream, at->thread, &writer->source);
}

/* Outside of it are samples of whose time others were overwritten, and those that a capture's end has passed. */
static bool is_in_profile(const struct recording_facts *facts, const struct sample_view *sample)
{
	if (facts->is_cut && sample->time_ns < facts->start_ns)
		return false;
	return !facts->until_ns || sample->time_ns <= facts->until_ns;
}

static int on_sample(void *context, const struct sample_view *sample)
{
	struct process_writer *writer = context;
	uint32_t number;
	int err;

	progress_add(&writer->reading, 1);
	if (!is_in_profile(writer->pass->source->recording.facts, sample))
		return 0;
	number = threads_resolve(&writer->process->threads, sample->thread, sample->time_ns);
	err = need_stream(writer, number);
	if (!err)
		err = thread_stream_sample(writer->threads[number].stream, sample);
	if (err)
		return err;
	writer->sample_count++;
	if (sample->user_end < GB_STACK_END_COUNT)
		writer->pass->summary.stack_ends[sample->user_end]++;
	return 0;
}

static int read_buffer(struct process_writer *writer, struct progress *progress)
{
	static const struct profile_visitor visitor = {
		.restart = on_restart,
		.node = on_node,
		.sample = on_sample,
	};
	struct profile_buffer_state state;
	int err;

	if (!writer->process->buffer)
		return 0;
	state = profile_buffer_get_state(writer->process->buffer);
	stages_enter(writer->pass->input->stages, "reading");
	progress_split(&writer->reading, progress, READING_UNITS, "reading samples",
		       state.pushed - state.cleared);
	err = profile_buffer_read(writer->process->buffer, &visitor, writer);
	progress_end(&writer->reading);
	return err;
}

/* ---- counting -------------------------------------------------------------------------- */

static int count_location(struct process_writer *writer, size_t location, uint64_t samples)
{
	const struct location *at = frames_location(writer->frames, (uint32_t)location);
	size_t length;
	const char *name = frames_text(writer->frames, at->text, &length);

	if (at->unnamed_in)
		libs_count_unnamed(writer->pass->libs, at->unnamed_in - 1, samples);
	return tally_add(writer->pass->tally, name, length, samples);
}

static int count_functions(struct process_writer *writer)
{
	size_t count, i;
	const uint64_t *samples = stacks_self_samples(writer->stacks, &count);
	int err = 0;

	for (i = 0; i < count && !err; i++)
		if (samples[i])
			err = count_location(writer, i, samples[i]);
	return err;
}

static void count_thread(struct process_writer *writer, const struct thread_stream *stream)
{
	struct profile_summary *summary = &writer->pass->summary;

	summary->samples += stream->sample_count;
	summary->threads += stream->sample_count > 0;
	writer->pass->clamped_count += stream->clamped_count;
}

/* ---- threads --------------------------------------------------------------------------- */

static int64_t since_start(const struct process_writer *writer, uint64_t time_ns)
{
	const struct thread_stream_source *source = &writer->source;

	return (int64_t)(source->lead_ns +
			 (time_ns > source->start_ns ? time_ns - source->start_ns : 0));
}

/*
 * An image that was not the first under its pid needs another: the front-end would merge the two.
 */
static void write_pid(struct json *json, const struct process *process)
{
	char text[32];

	json_key(json, "pid");
	if (!process->life) {
		json_u64(json, process->tgid);
		return;
	}
	snprintf(text, sizeof(text), "%u.%u", process->tgid, process->life);
	json_text(json, text);
}

static void write_thread_name(struct json *json, const struct thread *thread)
{
	char text[32];

	json_key(json, "name");
	if (thread->tid == thread->process->tgid) {
		json_text(json, "GeckoMain");
	} else if (thread->name[0]) {
		json_text_bytes(json, thread->name, strnlen(thread->name, sizeof(thread->name)));
	} else {
		snprintf(text, sizeof(text), "Thread <%u>", thread->tid);
		json_text(json, text);
	}
}

/*
 * Where the arguments after the first `count` begin to be too many. Arguments are joined by
 * blanks.
 */
static size_t arguments_length(const char *arguments, size_t count)
{
	size_t length = 0;

	for (; count && arguments[length]; count--) {
		length += strspn(arguments + length, " ");
		length += strcspn(arguments + length, " ");
	}
	return length;
}

static int write_process_name(struct json *json, const struct process *process, size_t include_args)
{
	size_t name_length = strnlen(process->name, sizeof(process->name)), length = 0;
	const char *arguments = process->cmdline ? strchr(process->cmdline, ' ') : NULL;
	char *text;

	if (arguments)
		length = arguments_length(arguments, include_args);
	text = malloc(name_length + length + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, process->name, name_length);
	if (length)
		memcpy(text + name_length, arguments, length);
	json_key(json, "processName");
	json_text_bytes(json, text, name_length + length);
	free(text);
	return 0;
}

static void write_life(const struct process_writer *writer, const struct thread *thread)
{
	struct json *json = writer->pass->json;
	uint64_t died_ns = thread->died_ns ? thread->died_ns : thread->process->died_ns;

	json_key_time_ms(json, "registerTime", since_start(writer, thread->born_ns));
	json_key(json, "unregisterTime");
	if (died_ns)
		json_time_ms(json, since_start(writer, died_ns));
	else
		json_none(json);
}

static int write_thread(struct process_writer *writer, struct thread_stream *stream)
{
	const struct thread *thread = stream->thread;
	struct json *json = writer->pass->json;
	int err = thread_stream_finish(stream);

	if (err)
		return err;
	json_object_begin(json);
	write_thread_name(json, thread);
	json_key_string(json, "processType", writer->process->is_root ? "default" : "native");
	err = write_process_name(json, writer->process,
				 writer->pass->source->recording.facts->include_args);
	write_pid(json, writer->process);
	json_key_u64(json, "tid", thread->tid);
	write_life(writer, thread);
	if (!err)
		err = thread_stream_write(stream, json);
	json_object_end(json);
	count_thread(writer, stream);
	return err;
}

/*
 * A process whose main thread was never met gets one: without it the front-end does not show the
 * process as one.
 */
static int write_main_thread(struct process_writer *writer)
{
	const struct thread thread = {
		.tid = writer->process->tgid,
		.born_ns = writer->process->born_ns,
		.cpu_first_ns = UINT64_MAX,
		.process = writer->process,
	};
	struct thread_stream *stream;
	int err = thread_stream_open(&stream, &thread, &writer->source);

	if (err)
		return err;
	err = write_thread(writer, stream);
	thread_stream_close(stream);
	return err;
}

static int write_threads(struct process_writer *writer)
{
	bool has_main = false;
	size_t i;
	int err = 0;

	for (i = 0; i < writer->process->threads.count && !err; i++) {
		const struct thread *thread = writer->process->threads.items[i];
		const struct writer_thread *at = &writer->threads[thread->number];
		bool is_main = thread->tid == writer->process->tgid;

		if (!at->stream && !is_main && thread->died_ns &&
		    thread->died_ns <= writer->source.start_ns)
			continue;
		has_main = has_main || is_main;
		err = need_stream(writer, thread->number);
		if (!err)
			err = write_thread(writer, at->stream);
	}
	if (!err && !has_main)
		err = write_main_thread(writer);
	return err;
}

/* What is not in the profile since it was overwritten, or cannot be read, if anything is. */
static void write_log(const struct process_writer *writer)
{
	const struct process *process = writer->process;
	struct json *json = writer->pass->json;
	struct profile_buffer_state state;
	char pid[32];

	if (!process->buffer)
		return;
	state = profile_buffer_get_state(process->buffer);
	if (!state.cleared && !state.damaged)
		return;
	snprintf(pid, sizeof(pid), process->life ? "%u.%u" : "%u", process->tgid, process->life);
	json_key(json, "profilingLog");
	json_object_begin(json);
	json_key(json, pid);
	json_object_begin(json);
	json_key_u64(json, "samples_recorded", state.pushed);
	json_key_u64(json, "samples_overwritten", state.cleared);
	json_key_u64(json, "samples_lost_damaged", state.damaged);
	json_object_end(json);
	json_object_end(json);
}

/* ---- the process ------------------------------------------------------------------------ */

/* All that has a size worth mentioning. */
static uint64_t row_bytes(const struct process_writer *writer)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < writer->thread_count; i++)
		if (writer->threads[i].stream)
			bytes += spool_bytes(writer->threads[i].stream->rows) +
				 spool_bytes(writer->threads[i].stream->stack_rows);
	return bytes;
}

static int write_entry(struct process_writer *writer)
{
	struct profile_pass *pass = writer->pass;
	struct json *json = pass->json;
	int err;

	json_object_begin(json);
	json_key(json, "meta");
	meta_write_process(json, pass->source->recording.facts, writer->process);
	json_key(json, "libs");
	err = libs_write(pass->libs, &writer->process->space, frames_objects(writer->frames), json);
	json_key(json, "threads");
	json_array_begin(json);
	if (!err)
		err = write_threads(writer);
	json_array_end(json);
	meta_write_pauses(json, pass->source->recording.facts);
	write_log(writer);
	json_key_literal(json, "processes", "[]");
	json_object_end(json);
	pass->summary.processes++;
	pass->summary.unsymbolized += frames_unnamed(writer->frames);
	if (!err)
		err = count_functions(writer);
	return err ? err : json_error(json);
}

static int write_counted(struct process_writer *writer, struct progress *progress)
{
	struct profile_pass *pass = writer->pass;
	struct progress writing;
	int err;

	stages_enter(pass->input->stages, "writing");
	progress_split(&writing, progress, PROCESS_UNITS - READING_UNITS, "writing",
		       row_bytes(writer));
	pass->writing = &writing;
	err = write_entry(writer);
	pass->writing = NULL;
	progress_end(&writing);
	return err;
}

int process_write(struct profile_pass *pass, struct process *process, bool keep_empty,
		  struct progress *progress)
{
	struct process_writer writer;
	int err = open_writer(&writer, pass, process);

	if (!err)
		err = read_buffer(&writer, progress);
	if (!err && (writer.sample_count || keep_empty))
		err = write_counted(&writer, progress);
	close_writer(&writer);
	return err;
}
