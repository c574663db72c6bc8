/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_profile.c - see raw_profile.h. */
#include "cmd/raw_profile.h"

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cmd/summary.h"
#include "cmd/unnamed.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_warning(void *context, const struct error *warning)
{
	log_problem(LOG_WARN, warning);
}

static void show_download(void *context, const char *url, uint64_t bytes, uint64_t total)
{
	if (total)
		log_status("  %s: %" PRIu64 " of %" PRIu64 " kB", url, bytes / 1000, total / 1000);
	else
		log_status("  %s: %" PRIu64 " kB", url, bytes / 1000);
}

static void say_what_was_written(const char *path, const struct conversion *result)
{
	const struct profile_summary *summary = &result->summary;

	if (result->kept)
		summary_kept(path, result->kept);
	log_info("wrote %s: %" PRIu64 " samples of %" PRIu64 " thread%s",
		 strcmp(path, "-") ? path : "to stdout", summary->samples, summary->threads,
		 summary->threads == 1 ? "" : "s");
	summary_gathered(summary);
}

/* "12 addresses of programs, 3 directories of files". */
static void say_what_was_left_out(const struct redaction *redaction)
{
	char text[400] = "";
	size_t used = 0;
	int kind;

	for (kind = 0; kind < REDACTED_COUNT; kind++)
		if (redaction->counts[kind])
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%s%" PRIu64 " %s", used ? ", " : "",
						 redaction->counts[kind], redaction_words(kind));
	log_info("left out: %s; names of programs, threads, functions and files are there",
		 used ? text : "nothing");
}

/* What is told while it goes on is printed. */
static struct conversion_options printing(const struct raw_profile_options *options,
					  struct progress_view *view,
					  const struct warning_sink *warnings)
{
	struct conversion_options conversion = options->conversion;

	view->style = options->progress;
	conversion.progress = view;
	conversion.warnings = warnings;
	conversion.on_download = show_download;
	return conversion;
}

/* Says what became of it, and frees it. `written`: the file; NULL: there is none. Returns `err`. */
static int conclude(const struct raw_profile_options *options, struct conversion *result,
		    const char *written, int err, const struct error *error)
{
	if (err)
		log_problem(LOG_ERROR, error);
	else if (written)
		say_what_was_written(written, result);
	if (!err && options->conversion.redacts)
		say_what_was_left_out(&result->redaction);
	if (!err && options->lists_unnamed)
		unnamed_report(&result->summary);
	conversion_clear(result);
	return err;
}

int raw_profile_load(const char *const *paths, size_t count,
		     const struct raw_profile_options *options, const char *name,
		     struct stack_profile *profile)
{
	const struct warning_sink warnings = {print_warning, NULL};
	struct progress_view view = {0};
	const struct conversion_options conversion = printing(options, &view, &warnings);
	struct conversion result = {0};
	struct error error = {0};
	int err = conversion_load(&result, paths, count, name, &conversion, profile, &error);

	return conclude(options, &result, NULL, err, &error);
}

int raw_profile_write(const char *const *paths, size_t count, const char *output_path,
		      const struct raw_profile_options *options, bool *lost)
{
	const struct warning_sink warnings = {print_warning, NULL};
	struct progress_view view = {0};
	const struct conversion_options conversion = printing(options, &view, &warnings);
	struct conversion result = {0};
	struct error error = {0};
	int err = conversion_write(&result, paths, count, output_path, &conversion, &error);

	*lost = result.has_losses;
	return conclude(options, &result, output_path, err, &error);
}
