/* SPDX-License-Identifier: BSD-2-Clause */
/* conversion.c - see conversion.h. */
#include "session/conversion.h"
#include "session/file_door.h"
#include "session/name_sources.h"
#include "session/output_rights.h"
#include "session/redacted_facts.h"

#include "archive/archive_budget.h"
#include "archive/capture_files.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/output.h"
#include "base/progress.h"
#include "buffer/profile_memory.h"
#include "format/format.h"
#include "format/spool.h"
#include "format/stack_profile.h"
#include "format/stack_sink.h"
#include "profile/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of memory, about: for a frame with its function and its places in the tables of a format. */
#define FRAME_BYTES 480
#define LEAST_FRAMES 16384

/* What is to be made of captures. */
struct job {
	struct conversion *result;
	const struct conversion_options *options;
	const char *path; /* of the output, or the name of the source */
	const char *source; /* the first capture */
	struct stack_profile *profile; /* to be added to; NULL: a file is to be written */
	bool is_cut; /* of captures that are cut off, or damaged */
	bool is_output; /* it was the output that failed, not the memory, or the file for what does not fit into it */
};

bool conversion_is_capture(const char *path)
{
	char magic[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && !fd_pread_all(fd, magic, sizeof(magic), 0) &&
		  !memcmp(magic, "geckobpf", sizeof(magic));

	fd_close(&fd);
	return is;
}

void conversion_clear(struct conversion *conversion)
{
	profile_summary_clear(&conversion->summary);
	free(conversion->kept);
	*conversion = (struct conversion){0};
}

/* ---- the walk ---------------------------------------------------------------------------- */

/* As a list, the first at `inputs`. */
static void make_inputs(struct profile_input *inputs, const struct capture_files *captures,
			const struct name_sources *sources)
{
	size_t i;

	for (i = 0; i < captures->count; i++) {
		const struct captured_boot *boot = &captures->items[i];

		inputs[i] = (struct profile_input){
			.recording.facts = &boot->facts,
			.recording.processes = boot->archive.processes,
			.recording.objects = boot->archive.objects,
			.named_files = sources->named_files,
			.kernel = sources->kernels[i],
			.next = i + 1 < captures->count ? &inputs[i + 1] : NULL,
		};
	}
	inputs[0].whole = captures->whole;
}

/* A profile without samples looks as if nothing had run. -ENODATA: they are in the part that is missing. */
static int check_samples(const struct job *job)
{
	const bool wants_all = profile_filter_is_empty(&job->options->filter);

	return job->is_cut && wants_all && !job->result->summary.samples ? -ENODATA : 0;
}

static int write_file(struct job *job, const struct profile_input *input)
{
	const struct output_options options = {
		.rights = output_rights(job->path, job->options->output_mode),
		.replaces = job->options->replaces,
	};
	struct output *output;
	int err = output_open(&output, job->path, &options);

	job->is_output = true;
	if (err)
		return err;
	err = format_write(job->options->format, input, output, &job->result->summary);
	if (!err)
		err = check_samples(job);
	if (!err)
		err = output_commit(output);
	job->is_output = output_error(output) != 0;
	if (!err && output_kept(output)) {
		job->result->kept = strdup(output_kept(output));
		err = job->result->kept ? 0 : -ENOMEM;
	}
	output_close(output);
	return err;
}

static int load(struct job *job, const struct profile_input *input)
{
	struct profile_sink *sink;
	int err = stack_sink_open(&sink, input, job->path, job->profile);

	if (err)
		return err;
	err = profile_walk(input, sink, &job->result->summary);
	sink->ops->close(sink);
	return err ? err : check_samples(job);
}

static void warn_of_what_is_missing(const struct job *job)
{
	const struct profile_summary *summary = &job->result->summary;

	if (summary->damaged)
		warning_say(job->options->warnings, NULL,
			    "%" PRIu64 " samples make no sense and are missing from the profile",
			    summary->damaged);
	if (!summary->samples && !profile_filter_is_empty(&job->options->filter))
		warning_say(job->options->warnings, NULL,
			    "nothing was recorded of the part that --from, --to, --process and "
			    "--thread choose");
}

static int run_job(struct job *job, const struct profile_input *input)
{
	struct stack_source source = {0};
	int err = job->profile ? load(job, input) : write_file(job, input);

	if (err)
		return err;
	stack_sink_add_losses(&source, input, &job->result->summary);
	job->result->has_losses = stack_source_has_losses(&source);
	warn_of_what_is_missing(job);
	return 0;
}

/* What the files left of the memory that they may take. */
static size_t max_frames(const struct capture_files *captures)
{
	uint64_t left = 0;
	size_t i;

	for (i = 0; i < captures->count; i++)
		left += captures->items[i].archive.memory_left;
	return LEAST_FRAMES + (size_t)(left / FRAME_BYTES);
}

static int walk_captures(struct job *job, struct capture_files *captures,
			 const struct name_sources *sources, struct progress *progress)
{
	struct profile_input *inputs = calloc(captures->count, sizeof(*inputs));
	int err;

	if (!inputs)
		return -ENOMEM;
	make_inputs(inputs, captures, sources);
	inputs[0].progress = progress;
	inputs[0].filter = job->options->filter;
	inputs[0].redaction = job->options->redacts ? &job->result->redaction : NULL;
	inputs[0].max_frames = max_frames(captures);
	err = run_job(job, inputs);
	free(inputs);
	return err;
}

/* Where files are found depends on what is left out: they are found by now. */
static int walk_redacted(struct job *job, struct capture_files *captures,
			 const struct name_sources *sources, struct progress *progress)
{
	struct redacted_facts redacted = {0};
	int err = redacted_facts_make(&redacted, captures, &job->result->redaction);

	if (!err)
		err = walk_captures(job, captures, sources, progress);
	redacted_facts_clear(&redacted);
	return err;
}

static int read_names(struct job *job, struct capture_files *captures, struct progress *whole)
{
	struct name_sources sources = {0};
	struct file_door *door = NULL;
	struct progress part;
	size_t i;
	int err = file_door_open(&door, NULL);

	if (!err)
		err = name_sources_open(&sources, captures, job->options);
	for (i = 0; i < captures->count; i++)
		profile_memory_pause(captures->items[i].archive.memory);
	progress_split(&part, whole, whole->total, NULL, 1);
	if (!err)
		err = (job->options->redacts ? walk_redacted : walk_captures)(job, captures,
									      &sources, &part);
	for (i = 0; i < captures->count; i++)
		profile_memory_resume(captures->items[i].archive.memory);
	name_sources_close(&sources);
	file_door_close(door);
	return err;
}

static int fail(const struct job *job, int err, struct error *error)
{
	if (err == -ENODATA)
		return error_set(error, err, job->source,
				 "holds no samples: they are in the part that is cut off or "
				 "damaged");
	if (err == -E2BIG) {
		error_set(error, err, job->source,
			  "its stacks would take more memory than %d times its size and %llu MB",
			  ARCHIVE_MEMORY_FACTOR, ARCHIVE_MEMORY_BYTES >> 20);
		error_advise(error, "if it was recorded, and not made to do that, choose a part "
				    "of it with --from, --to, --process or --thread");
		return err;
	}
	if (err == -ENOMEM)
		return error_set(error, err, NULL, "out of memory while making the profile");
	if (!job->is_output) {
		error_set(error, err, spool_directory(), "cannot write a temporary file there: %s",
			  strerror(-err));
		error_advise(error, "set TMPDIR to another directory");
		return err;
	}
	error_set(error, err, job->path, "cannot write it: %s", strerror(-err));
	error_advise(error, "give another file with -o");
	return err;
}

static bool are_cut(const struct capture_files *captures)
{
	size_t i;

	for (i = 0; i < captures->count; i++) {
		const struct archive *archive = &captures->items[i].archive;

		if (!archive->has_end || archive->damage.bytes || archive->bad_sections ||
		    archive->lost_blocks)
			return true;
	}
	return false;
}

static int read_captures(struct job *job, const char *const *paths, size_t count,
			 struct error *error)
{
	struct progress_view nobody = {0};
	struct capture_files captures;
	struct progress whole;
	int err;

	progress_begin(&whole, job->options->progress ? job->options->progress : &nobody,
		       count == 1 ? "reading the capture" : "reading the captures",
		       CAPTURE_FILES_UNITS(count) + count);
	err = capture_files_read(&captures, paths, count, &whole, job->options->warnings, error);
	if (err)
		return err;
	job->source = paths[0];
	job->is_cut = are_cut(&captures);
	err = read_names(job, &captures, &whole);
	if (!err)
		progress_end(&whole);
	else
		fail(job, err, error);
	capture_files_close(&captures);
	return err;
}

int conversion_load(struct conversion *out, const char *const *paths, size_t count,
		    const char *name, const struct conversion_options *options,
		    struct stack_profile *profile, struct error *error)
{
	struct job job = {.result = out, .options = options, .path = name, .profile = profile};

	return read_captures(&job, paths, count, error);
}

int conversion_write(struct conversion *out, const char *const *paths, size_t count,
		     const char *output_path, const struct conversion_options *options,
		     struct error *error)
{
	struct job job = {.result = out, .options = options, .path = output_path};

	return read_captures(&job, paths, count, error);
}
