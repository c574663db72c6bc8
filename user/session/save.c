/* SPDX-License-Identifier: BSD-2-Clause */
/* save.c - see save.h. */

#include "archive/archive.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/naming.h"
#include "base/output.h"
#include "base/printable.h"
#include "base/progress.h"
#include "capture/rights.h"
#include "format/format.h"
#include "format/spool.h"
#include "profile/profile.h"
#include "session/elsewhere.h"
#include "session/gathered_facts.h"
#include "session/output_rights.h"
#include "session/save.h"
#include "session/state.h"
#include "symbol/kernel_symbols.h"
#include "symbol/named_files.h"
#include "target/command.h"
#include "target/object.h"
#include "target/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4200
#define KALLSYMS "/proc/kallsyms"
/* To read the kernel's symbols takes about as long as this much of the buffer. */
#define KERNEL_SYMBOLS_WORK (512 << 10)

/* ---- where to -------------------------------------------------------------------- */

static void default_path(const struct session *session, char *path, size_t path_bytes)
{
	const char *name = session->config->all ? "system" : session->target.name;
	char safe[32], when[32];
	time_t now = time(NULL);
	struct tm local;
	size_t i;

	for (i = 0; i < sizeof(safe) - 1 && name[i]; i++)
		safe[i] = name[i];
	safe[i] = '\0';
	printable_clean(safe, i);
	for (i = 0; safe[i]; i++)
		if (strchr("/ :*?\"<>|\\'", safe[i]) || (!i && safe[i] == '-'))
			safe[i] = '_';
	localtime_r(&now, &local);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
	if (session->config->all)
		snprintf(path, path_bytes, "%s-%s.json.gz", safe, when);
	else
		snprintf(path, path_bytes, "%s-%u-%s.json.gz", safe, session->target.tgid, when);
}

int save_check(struct session *session, struct error *error)
{
	const char *output = session->config->output;
	char path[128];
	int err;

	/* The stream is the output. */
	if (session->config->stream && !output)
		return 0;
	/* A command has no pid yet; its file is named, in the same directory, when it has. */
	default_path(session, path, sizeof(path));
	err = output_check(output ? output : path);
	if (err == -EINVAL) {
		error_set(error, err, output, "unknown suffix");
		error_advise(error,
			     "give a .json, .json.gz, .json.zst or .gbpf file, or - for stdout");
	} else if (err) {
		error_set(error, err, output ? output : "the current directory",
			  "cannot write there: %s", strerror(-err));
		error_advise(error, "give another file with --output");
	}
	return err;
}

/* ---- the profile --------------------------------------------------------------------- */

/* Everything that format_write() needs for as long as it may be called again. */
struct writing {
	struct gathered_facts gathered;
	struct progress_view *view; /* NULL: not shown */
	struct progress whole;
	struct named_files *named_files;
	struct kernel_symbols *kernel;
};

/* Why kernel frames have no names; a warning. */
static int open_kernel_symbols(struct session *session, struct writing *writing)
{
	int err = kernel_symbols_open(&writing->kernel, NULL);
	struct error error = {0};

	if (!err || err == -ENOMEM)
		return err;
	if (err == -EACCES) {
		error_set(&error, err, "kernel symbols", "hidden");
		rights_advise_kernel_names(&error);
	} else {
		error_set(&error, err, "kernel symbols", "/proc/kallsyms: %s", strerror(-err));
		error_advise(&error, "kernel frames have no names. To see them: a container must "
				     "not hide that file (docker: --privileged)");
	}
	session_tell_error(session, SESSION_WARNING, &error);
	return err;
}

static int open_symbols(struct session *session, struct writing *writing, bool raw,
			int *kernel_error)
{
	const struct file_search search = {.dirs = session->config->symbol_dirs,
					   .dir_count = session->config->symbol_dir_count};
	const struct named_options options = {.search = &search, .cancel = &session->cancel};
	int err;

	*kernel_error = 0;
	/* A raw capture can have the names later, on another day. */
	if (session->config->addresses || raw)
		return 0;
	err = named_files_open(&writing->named_files, &options);
	if (!err && session->config->kernel_stacks)
		*kernel_error = open_kernel_symbols(session, writing);
	return *kernel_error == -ENOMEM ? -ENOMEM : err;
}

static void close_symbols(struct writing *writing)
{
	kernel_symbols_close(writing->kernel);
	named_files_close(writing->named_files);
	writing->kernel = NULL;
	writing->named_files = NULL;
}

/* Everything that can be said before the profile is written. */
static int prepare(struct session *session, struct writing *writing, bool raw, uint64_t until_ns)
{
	int err, kernel_error, log_err;

	/* The process that writes a capture shows nothing on the terminal: the recording does. */
	writing->view = until_ns ? NULL : session->config->progress;
	stages_enter(&session->stages, "symbols");
	if (!raw && !session->config->addresses)
		objects_open_for_names(session->objects);
	gathered_facts_collect(session, &writing->gathered);
	writing->gathered.facts.until_ns = until_ns;
	progress_begin(&writing->whole, writing->view, "reading kernel symbols",
		       KERNEL_SYMBOLS_WORK + writing->gathered.counters.used_bytes + 1);
	err = open_symbols(session, writing, raw, &kernel_error);
	progress_add(&writing->whole, KERNEL_SYMBOLS_WORK);
	log_err = gathered_facts_log(session, kernel_error, &writing->gathered);
	return err ? err : log_err;
}

/* Nothing is looked up for a raw capture. */
static bool is_raw(const char *path)
{
	return !strcmp(output_suffix(path), ".gbpf");
}

static bool is_cancelled(void *context)
{
	struct session *session = context;

	return cancel_look(&session->cancel);
}

static int write_to_output(void *context, const void *bytes, size_t size)
{
	return output_write(context, bytes, size);
}

static int write_raw(const struct profile_input *input, struct output *output)
{
	const struct section_sink sink = {write_to_output, output};
	struct section_writer *writer;
	int err = section_writer_open(&writer, &sink);

	if (err)
		return err;
	err = archive_write(writer, &input->recording, KALLSYMS, input->progress);
	section_writer_close(writer);
	return err;
}

/* Whose disk it is if there is trouble with one: the output's, or that of what does not fit into memory meanwhile. */
static void set_failed(char failed[PATH_BYTES], const char *path, bool is_output)
{
	const char *slash = strrchr(path, '/');

	if (!is_output)
		snprintf(failed, PATH_BYTES, "%s", spool_directory());
	else if (naming_is_direct(path))
		snprintf(failed, PATH_BYTES, "%s", strcmp(path, "-") ? path : "/dev/stdout");
	else if (slash)
		snprintf(failed, PATH_BYTES, "%.*s/", (int)(slash - path), path);
	else
		snprintf(failed, PATH_BYTES, ".");
}

/* `failed` is set to what is on the disk that an error speaks of, if it speaks of one. */
static int write_to(struct session *session, struct writing *writing, const char *path,
		    struct profile_summary *summary, uint64_t *bytes, char failed[PATH_BYTES])
{
	const struct output_options options = {
		.is_cancelled = is_cancelled,
		.context = session,
		.rights = output_rights(path, session->config->output_mode),
		.replaces = session->config->replaces,
	};
	struct progress part;
	const struct profile_input input = {
		.recording.facts = &writing->gathered.facts,
		.recording.processes = session->processes,
		.recording.objects = session->objects,
		.filter.each_process = session->config->each_process,
		.named_files = writing->named_files,
		.kernel = writing->kernel,
		.progress = &part,
		.stages = &session->stages,
		.cancel = &session->cancel,
	};
	struct output *output;
	int err;

	set_failed(failed, path, true);
	err = output_open(&output, path, &options);
	if (err)
		return err;
	summary->top_count = session->config->top;
	progress_split(&part, &writing->whole, writing->gathered.counters.used_bytes + 1, NULL, 1);
	err = is_raw(path) ? write_raw(&input, output)
			   : format_write(session->config->format, &input, output, summary);
	if (!err)
		err = output_commit(output);
	if (!err)
		progress_end(&writing->whole);
	if (!err && output_kept(output))
		session_tell_moved(session, SESSION_FILE_KEPT, path, output_kept(output));
	*bytes = output_bytes_out(output);
	set_failed(failed, path, output_error(output) != 0);
	output_close(output);
	return err;
}

/* Nothing has looked at the samples of a raw capture. */
static void count_raw(const struct session *session, struct session_saved *saved)
{
	const struct counters *counters = &saved->counters;

	saved->profile.damaged = recording_damaged(session->processes);
	saved->profile.samples =
		counters->records.samples - counters->overwritten - saved->profile.damaged;
}

/* Whether a raw capture is wanted in place of what was given up; of a raw capture there is none. */
static bool is_rescued(const struct session *session, const char *path)
{
	return session->rescues && !is_raw(path);
}

static void tell_failure(struct session *session, const char *path, int err)
{
	struct error error = {0};

	if (err == -EINTR)
		error_set(&error, err, path, "interrupted while writing");
	else if (err == -EPIPE)
		error_set(&error, err, "stdout",
			  "its reader went away before it had the whole profile");
	else
		error_set(&error, err, strcmp(path, "-") ? path : "stdout",
			  "cannot write the %s: %s", is_raw(path) ? "raw capture" : "profile",
			  strerror(-err));
	if (err == -EINTR && !is_rescued(session, path))
		error_advise(&error, "nothing was saved");
	session_tell_error(session, SESSION_SAVE_FAILED, &error);
}

/* Tells whether there is a profile, and what is in it, or why there is none. */
static int write_and_tell(struct session *session, struct writing *writing, const char *path,
			  char failed[PATH_BYTES])
{
	struct session_saved saved = {.file = is_raw(path) ? SESSION_RAW : SESSION_PROFILE};
	int err;

	/* A capture that was still being written may have been given up. */
	err = cancel_look(&session->cancel)
		      ? -EINTR
		      : write_to(session, writing, path, &saved.profile, &saved.bytes, failed);
	if (err) {
		tell_failure(session, path, err);
	} else {
		snprintf(saved.path, sizeof(saved.path), "%s", path);
		saved.counters = writing->gathered.counters;
		if (is_raw(path))
			count_raw(session, &saved);
		session_tell_saved(session, &saved);
	}
	profile_summary_clear(&saved.profile);
	return err;
}

/* ---- what is saved if that fails ----------------------------------------------------- */

struct raw_attempt {
	struct session *session;
	struct writing *writing;
};

static int write_raw_capture(void *context, const char *path)
{
	struct raw_attempt *attempt = context;
	struct writing *writing = attempt->writing;
	struct profile_summary none = {0};
	char failed[PATH_BYTES];
	uint64_t bytes;

	progress_begin(&writing->whole, writing->view, "saving a raw capture",
		       writing->gathered.counters.used_bytes + 1);
	return write_to(attempt->session, writing, path, &none, &bytes, failed);
}

static void tell_lost(struct session *session, const char *path, int err)
{
	struct error error = {0};

	if (err == -EINTR)
		error_set(&error, err, path, "interrupted while writing");
	else
		error_set(&error, err, path, "cannot write a raw capture either: %s",
			  strerror(-err));
	error_advise(&error, err == -EINTR ? "nothing was saved" : "the recording is lost");
	session_tell_error(session, SESSION_SAVE_FAILED, &error);
}

/*
 * Nothing is looked up for a raw capture, and little memory is needed, so what kept the profile from being made need
 * not keep it.
 */
static void save_elsewhere(struct session *session, struct writing *writing, const char *path,
			   const char *failed)
{
	struct raw_attempt attempt = {session, writing};
	char name[128], raw[PATH_BYTES];
	const struct elsewhere elsewhere = {
		.path = path, .failed = failed, .suffix = ".gbpf", .stdout_name = name};
	int err;

	default_path(session, name, sizeof(name));
	name[output_suffix(name) - name] = '\0';
	close_symbols(writing);
	err = elsewhere_write(&elsewhere, write_raw_capture, &attempt, raw, sizeof(raw));
	if (!err)
		session_tell_moved(session, SESSION_SAVED_ELSEWHERE, path, raw);
	else
		tell_lost(session, *raw ? raw : path, err);
}

/* To `path`, with everything up to `until_ns`; 0: all. */
static int save(struct session *session, const char *path, uint64_t until_ns)
{
	struct writing writing = {0};
	char failed[PATH_BYTES] = "";
	struct error error = {0};
	int err;

	err = prepare(session, &writing, is_raw(path), until_ns);
	if (err) {
		error_set(&error, err, path, "cannot write the profile: symbols: %s",
			  strerror(-err));
		session_tell_error(session, SESSION_SAVE_FAILED, &error);
	} else {
		err = write_and_tell(session, &writing, path, failed);
	}
	if (err == -EINTR)
		session->cancel.happened = !is_rescued(session, path);
	if (err && !session->cancel.happened)
		save_elsewhere(session, &writing, path, elsewhere_helps(err) ? failed : NULL);
	close_symbols(&writing);
	gathered_facts_clear(&writing.gathered);
	return err;
}

static void output_path(const struct session *session, char *path, size_t path_bytes)
{
	if (session->config->output)
		snprintf(path, path_bytes, "%s", session->config->output);
	else
		default_path(session, path, path_bytes);
}

int save_profile(struct session *session)
{
	char path[PATH_BYTES];

	output_path(session, path, sizeof(path));
	return save(session, path, 0);
}

int save_capture(struct session *session, unsigned int number)
{
	char whole[PATH_BYTES], path[PATH_BYTES + 16];
	struct error error = {0};
	int err;

	output_path(session, whole, sizeof(whole));
	/* stdout is for the last one. */
	if (naming_is_direct(whole))
		default_path(session, whole, sizeof(whole));
	err = naming_number(whole, number, session->config->replaces, path, sizeof(path));
	if (!err)
		return save(session, path, session->end_ns);
	error_set(&error, err, whole, "no name is left for a capture: %s", strerror(-err));
	session_tell_error(session, SESSION_SAVE_FAILED, &error);
	return err;
}
