/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.c - see stream.h.
 *
 * What an image's number, or a thread's, means in the file must not change between what says it and the entries that
 * use it; so everything that is new is written in one go, just before anything is forgotten (step.c).
 */

#include "archive/archive.h"
#include "base/error.h"
#include "buffer/profile_memory.h"
#include "session/gathered_facts.h"
#include "session/output_rights.h"
#include "session/state.h"
#include "session/stream.h"
#include "base/output.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KALLSYMS "/proc/kallsyms"
#define LOG_NS (10 * NS_PER_SEC) /* the counters need not be as fresh as the samples */

struct stream {
	struct session *session;
	const char *path; /* borrowed */
	struct output *output;
	struct section_writer *sections;
	struct archive_writer writer;
	struct gathered_facts gathered;
	bool has_begun;
	int error;
	uint64_t next_ns, next_log_ns;
	uint64_t next_serial; /* files before it are written */
	uint64_t cpu_ns; /* that it took */
	uint64_t missed; /* samples, of which the losses in the file tell */
};

static void fail(struct stream *stream, int err, bool is_last)
{
	const double after_s =
		(double)(stream->next_ns - STREAM_NS - stream->session->start_ns) / NS_PER_SEC;
	struct error error = {0};

	stream->error = err;
	error_set(&error, err, stream->path, "cannot write: %s", strerror(-err));
	error_advise(
		&error, "it has the first %.1f s%s", after_s > 0 ? after_s : 0,
		is_last ? "; a profile of what is in memory is written"
			: "; recording goes on in memory, and a profile is written at the end");
	session_tell_error(stream->session, SESSION_STREAM_FAILED, &error);
}

static int cannot_write(const struct stream *stream, int err, struct error *error)
{
	error_set(error, err, stream->path, "cannot write there: %s", strerror(-err));
	error_advise(error, "give another file with --stream");
	return err;
}

/* ---- opening ------------------------------------------------------------------- */

static int write_to_output(void *context, const void *bytes, size_t size)
{
	return output_write(context, bytes, size);
}

static int open_file(struct stream *stream)
{
	const struct session_config *config = stream->session->config;
	const struct output_options options = {
		.rights = output_rights(stream->path, config->output_mode),
		.replaces = config->replaces,
	};
	struct section_sink sink = {.write = write_to_output};
	int err = output_check(stream->path);

	if (!err && strcmp(output_suffix(stream->path), ".gbpf") != 0)
		err = -EINVAL;
	if (!err)
		err = output_open(&stream->output, stream->path, &options);
	sink.context = stream->output;
	if (!err)
		err = section_writer_open(&stream->sections, &sink);
	stream->writer.sections = stream->sections;
	return err;
}

int stream_open(struct stream **out, struct session *session, struct error *error)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int err;

	if (!stream)
		return error_set(error, -ENOMEM, NULL, "out of memory");
	stream->session = session;
	stream->path = session->config->stream;
	err = open_file(stream);
	if (!err) {
		*out = stream;
		return 0;
	}
	if (err == -EINVAL) {
		error_set(error, err, stream->path, "a stream is a raw capture");
		error_advise(error, "give a .gbpf file");
	} else {
		cannot_write(stream, err, error);
	}
	stream_close(stream);
	return err;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	archive_writer_clear(&stream->writer);
	section_writer_close(stream->sections);
	output_close(stream->output);
	gathered_facts_clear(&stream->gathered);
	free(stream);
}

int stream_name_kernel(struct stream *stream, struct error *error)
{
	int err = 0;

	if (stream && stream->session->config->kernel_stacks)
		err = archive_write_kernel(&stream->writer, KALLSYMS);
	return err ? cannot_write(stream, err, error) : 0;
}

int stream_begin(struct stream *stream, struct error *error)
{
	struct gathered_facts *gathered;
	int err;

	if (!stream)
		return 0;
	gathered = &stream->gathered;
	gathered_facts_collect(stream->session, gathered);
	/* All of it will be in the file, whatever the buffer has forgotten by then. */
	gathered->facts.start_ns = stream->session->start_ns;
	gathered->facts.start_real_ns = stream->session->start_real_ns;
	gathered->facts.is_cut = false;
	stream->has_begun = true;
	stream->next_ns = stream->session->start_ns + STREAM_NS;
	err = archive_write_head(&stream->writer, &gathered->facts);
	if (!err)
		err = output_publish(stream->output);
	if (!err && output_kept(stream->output))
		session_tell_moved(stream->session, SESSION_FILE_KEPT, stream->path,
				   output_kept(stream->output));
	stream->error = err;
	return err ? cannot_write(stream, err, error) : 0;
}

/* ---- writing --------------------------------------------------------------------- */

/* They are in the order of their serials. */
static int write_files(struct stream *stream)
{
	const struct objects *objects = stream->session->objects;
	size_t at = objects_count(objects);
	int err = 0;

	while (at && objects_at(objects, at - 1)->serial >= stream->next_serial)
		at--;
	for (; at < objects_count(objects) && !err; at++) {
		const struct object *object = objects_at(objects, at);

		err = archive_write_file(&stream->writer, object);
		stream->next_serial = (uint64_t)object->serial + 1;
	}
	return err;
}

static int write_processes(struct stream *stream)
{
	const struct processes *processes = stream->session->processes;
	size_t count = processes_count(processes), i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		if (processes_at(processes, i)->is_changed)
			err = archive_write_process(&stream->writer, processes_at(processes, i),
						    false);
	for (i = 0; i < count && !err; i++) {
		struct process *process = processes_at(processes, i);

		err = archive_write_blocks(&stream->writer, process, &process->archived);
	}
	return err;
}

static int collect_log(struct stream *stream, uint64_t now_ns)
{
	struct counters *counters = &stream->gathered.counters;

	counters_collect(stream->session, counters);
	loss_watch_look(&stream->session->loss_watch, counters, now_ns);
	counters->overwritten = stream->writer.missed;
	counters->stream.bytes = output_bytes_in(stream->output);
	counters->stream.cpu_ns = stream->cpu_ns;
	counters->stream.damaged = stream->writer.damaged;
	return gathered_facts_log(stream->session, 0, &stream->gathered);
}

static int write_losses(struct stream *stream, uint64_t now_ns)
{
	struct losses *losses = &stream->session->loss_watch.unwritten;
	const struct loss missed = {
		.from_ns = stream->next_ns - STREAM_NS,
		.to_ns = now_ns,
		.count = stream->writer.missed - stream->missed,
		.cause = LOSS_STREAM,
	};
	int err;

	if (missed.count)
		losses_add(losses, &missed);
	stream->missed = stream->writer.missed;
	err = archive_write_losses(&stream->writer, losses->items, losses->count);
	losses->count = 0;
	return err;
}

static int write_end(struct stream *stream, uint64_t now_ns, bool is_last)
{
	struct recording_facts *facts = &stream->gathered.facts;
	int err = 0;

	facts->log_count = 0;
	if (is_last || now_ns >= stream->next_log_ns) {
		err = collect_log(stream, now_ns);
		stream->next_log_ns = now_ns + LOG_NS;
	}
	if (!err)
		err = write_losses(stream, now_ns);
	if (err)
		return err;
	facts->end_ns = now_ns;
	facts->pauses = stream->session->pauses.items;
	facts->pause_count = stream->session->pauses.count;
	return archive_write_end(&stream->writer, facts, is_last);
}

static void write_all(struct stream *stream, uint64_t now_ns, bool is_last)
{
	const uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	profile_memory_pause(stream->session->memory);
	err = write_files(stream);
	if (!err)
		err = write_processes(stream);
	profile_memory_resume(stream->session->memory);
	if (!err)
		err = write_end(stream, now_ns, is_last);
	if (!err)
		err = is_last ? output_commit(stream->output) : output_flush(stream->output);
	if (err)
		fail(stream, err, is_last);
	stream->next_ns = now_ns + STREAM_NS;
	stream->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
}

void stream_write(struct stream *stream, uint64_t now_ns)
{
	if (stream && stream->has_begun && !stream->error)
		write_all(stream, now_ns, false);
}

void stream_poll(struct stream *stream, uint64_t now_ns)
{
	if (stream && now_ns >= stream->next_ns)
		stream_write(stream, now_ns);
}

static void tell_saved(struct stream *stream)
{
	struct session_saved saved = {.file = SESSION_STREAM,
				      .bytes = output_bytes_out(stream->output),
				      .counters = stream->gathered.counters,
				      .profile.samples = stream->writer.written,
				      .profile.damaged = stream->writer.damaged,
				      .missed = stream->writer.missed};

	snprintf(saved.path, sizeof(saved.path), "%s", stream->path);
	session_tell_saved(stream->session, &saved);
}

int stream_finish(struct stream *stream)
{
	struct error error = {0};

	if (!stream)
		return 0;
	/* Stopped before it began: an empty recording. */
	if (!stream->has_begun && stream_begin(stream, &error))
		session_tell_error(stream->session, SESSION_SAVE_FAILED, &error);
	if (!stream->error)
		write_all(stream, stream->session->end_ns, true);
	if (!stream->error)
		tell_saved(stream);
	return stream->error;
}

int stream_error(const struct stream *stream)
{
	return stream ? stream->error : 0;
}
