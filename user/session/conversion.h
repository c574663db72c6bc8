/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conversion.h - raw captures (archive/archive.h) become a profile in a file, or part of a profile of stacks.
 *
 *   files ──> captures, one recording a clock ─────────┐
 *   name_sources.h: what the code in them is called ───┴──> profile/profile.h ──> format/format.h: a file
 *                                                                           └──> format/stack_sink.h: counts of stacks
 */
#ifndef GECKOBPF_SESSION_CONVERSION_H
#define GECKOBPF_SESSION_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/redaction.h"

struct error;
struct format;
struct progress_view;
struct stack_profile;
struct warning_sink;

/* All is borrowed. */
struct conversion_options {
	const struct format *format; /* of a file; NULL: Gecko */
	mode_t output_mode; /* see base/file_rights.h */
	bool replaces; /* a file that has the name already; otherwise it is kept */
	struct profile_filter filter; /* the part that is wanted */
	bool addresses; /* no names */
	bool redacts; /* leaves out what others are not to see: profile/redaction.h */
	const char *const *
		symbol_dirs; /* where files and debug files are searched for, besides their own place */
	size_t symbol_dir_count;
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS for what is not found */
	/* A download goes on; `total` is 0 while it is not known. NULL: not told. */
	void (*on_download)(void *context, const char *url, uint64_t bytes, uint64_t total);
	struct progress_view *progress; /* NULL: not shown */
	const struct warning_sink *warnings; /* told what is missing; NULL: not told */
};

/* What became of raw captures. Zero-initialised before; conversion_clear() frees it. */
struct conversion {
	struct profile_summary summary;
	struct redaction redaction; /* what was left out, if that was asked for */
	bool has_losses; /* the recordings had lost something */
	char *kept; /* what a file is called that had the name before; NULL: there was none */
};

void conversion_clear(struct conversion *conversion);

/* Whether the file behind `path` says that it is a raw capture. */
bool conversion_is_capture(const char *path);

/* Writes the profile of all of them to `output_path` (base/output.h). 0, or -errno and *error. */
int conversion_write(struct conversion *out, const char *const *paths, size_t count,
		     const char *output_path, const struct conversion_options *options,
		     struct error *error);

/* Adds them to `profile` as one source called `name`. 0, or -errno and *error. */
int conversion_load(struct conversion *out, const char *const *paths, size_t count,
		    const char *name, const struct conversion_options *options,
		    struct stack_profile *profile, struct error *error);

#endif
