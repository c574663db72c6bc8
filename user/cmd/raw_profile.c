/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_profile.c - see raw_profile.h. */
#include "cmd/raw_profile.h"

#include "base/fd.h"
#include "base/error.h"
#include "base/log.h"
#include "buffer/profile_memory.h"
#include "archive/captures.h"
#include "cmd/names.h"
#include "base/output.h"
#include "base/progress.h"
#include "format/json_format.h"
#include "format/spool.h"
#include "format/stack_profile.h"
#include "format/stack_sink.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool is_raw_capture(const char *path)
{
	char magic[8];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && !fd_pread_all(fd, magic, sizeof(magic), 0) &&
		  !memcmp(magic, "geckobpf", sizeof(magic));

	fd_close(&fd);
	return is;
}

/* ---- the profile ------------------------------------------------------------------------- */

/* As a list, the first at `inputs`. */
static void make_inputs(struct profile_input *inputs, const struct captures *captures,
			const struct names *names)
{
	size_t i;

	for (i = 0; i < captures->count; i++) {
		const struct captured_boot *boot = &captures->items[i];

		inputs[i] = (struct profile_input){
			.recording.facts = &boot->facts,
			.recording.processes = boot->archive.processes,
			.recording.objects = boot->archive.objects,
			.symbolizer = names->symbolizer,
			.kernel = names->kernels[i],
			.next = i + 1 < captures->count ? &inputs[i + 1] : NULL,
		};
	}
	inputs[0].whole = captures->whole;
}

/* *is_output: it is the output that failed, not the memory, or the file for what does not fit into it. */
static int write_to(const struct profile_input *input, const struct json_format *format,
		    const char *path, struct profile_summary *summary, bool *is_output)
{
	const struct output_options options = {.owner_uid = -1, .owner_gid = -1};
	struct output *output;
	int err = output_open(&output, path, &options);

	*is_output = true;
	if (err)
		return err;
	err = json_format_write(format, input, output, summary);
	if (!err)
		err = output_commit(output);
	*is_output = output_error(output) != 0;
	output_close(output);
	return err;
}

static void say_what_was_written(const char *path, const struct profile_summary *summary)
{
	log_info("wrote %s: %" PRIu64 " samples of %" PRIu64 " thread%s",
		 strcmp(path, "-") ? path : "to stdout", summary->samples, summary->threads,
		 summary->threads == 1 ? "" : "s");
}

static int load_into(const struct profile_input *input, const char *name,
		     struct stack_profile *profile, struct profile_summary *summary)
{
	struct profile_sink *sink;
	int err = stack_sink_open(&sink, input, name, profile);

	if (err)
		return err;
	err = profile_walk(input, sink, summary);
	sink->ops->close(sink);
	return err;
}

/* What is to be made of captures. */
struct job {
	const struct raw_profile_options *options;
	const char *path; /* of the output, or the name of the source */
	struct stack_profile *profile; /* to be added to; NULL: a file is to be written */
	bool is_output; /* it was the output that failed */
	bool has_losses;
};

static int run_job(struct job *job, const struct profile_input *input)
{
	struct profile_summary summary = {0};
	struct stack_source source = {0};
	int err = job->profile ? load_into(input, job->path, job->profile, &summary)
			       : write_to(input, job->options->format, job->path, &summary,
					  &job->is_output);

	if (!err && !job->profile) {
		stack_sink_add_losses(&source, input, &summary);
		job->has_losses = stack_source_has_losses(&source);
		say_what_was_written(job->path, &summary);
	}
	if (!err && summary.damaged)
		log_warn("%" PRIu64 " samples make no sense and are missing from the profile",
			 summary.damaged);
	if (!err && !summary.samples && !profile_filter_is_empty(&job->options->filter))
		log_warn("nothing was recorded of the part that --from, --to, --process and "
			 "--thread choose");
	if (!err && job->options->lists_unnamed)
		names_report(&summary);
	profile_summary_clear(&summary);
	return err;
}

static int walk_captures(struct job *job, const struct captures *captures,
			 const struct names *names, struct progress *progress)
{
	struct profile_input *inputs = calloc(captures->count, sizeof(*inputs));
	int err;

	if (!inputs)
		return -ENOMEM;
	make_inputs(inputs, captures, names);
	inputs[0].progress = progress;
	inputs[0].filter = job->options->filter;
	err = run_job(job, inputs);
	free(inputs);
	return err;
}

static int read_names(struct job *job, const struct captures *captures, struct progress *whole)
{
	struct names names = {0};
	struct progress part;
	size_t i;
	int err = names_open(&names, captures, job->options);

	for (i = 0; i < captures->count; i++)
		profile_memory_pause(captures->items[i].archive.memory);
	progress_split(&part, whole, whole->total, NULL, 1);
	if (!err)
		err = walk_captures(job, captures, &names, &part);
	for (i = 0; i < captures->count; i++)
		profile_memory_resume(captures->items[i].archive.memory);
	names_close(&names);
	return err;
}

static void log_failure(const struct job *job, int err)
{
	if (err == -ENOMEM)
		log_error("out of memory while making the profile");
	else if (!job->is_output)
		log_error("%s: cannot write a temporary file there: %s; set TMPDIR to another "
			  "directory",
			  spool_directory(), strerror(-err));
	else
		log_error("%s: cannot write it: %s; give another file with -o", job->path,
			  strerror(-err));
}

static void print_warning(void *context, const struct error *warning)
{
	log_problem(LOG_WARN, warning);
}

static int read_captures(struct job *job, const char *const *paths, size_t count)
{
	struct progress_view view = {.style = job->options->progress};
	struct captures captures;
	struct progress whole;
	const struct warning_sink warnings = {print_warning, NULL};
	struct error error = {0};
	int err;

	progress_begin(&whole, &view, count == 1 ? "reading the capture" : "reading the captures",
		       CAPTURES_UNITS(count) + count);
	err = captures_read(&captures, paths, count, &whole, &warnings, &error);
	if (err) {
		log_problem(LOG_ERROR, &error);
		return err;
	}
	err = read_names(job, &captures, &whole);
	if (!err)
		progress_end(&whole);
	else
		log_failure(job, err);
	captures_close(&captures);
	return err;
}

int raw_profile_load(const char *const *paths, size_t count,
		     const struct raw_profile_options *options, const char *name,
		     struct stack_profile *profile)
{
	struct job job = {.options = options, .path = name, .profile = profile};

	return read_captures(&job, paths, count);
}

int raw_profile_write(const char *const *paths, size_t count, const char *output_path,
		      const struct raw_profile_options *options, bool *lost)
{
	struct job job = {.options = options, .path = output_path};
	int err = read_captures(&job, paths, count);

	*lost = job.has_losses;
	return err;
}
