/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_profile.h - raw captures (archive/archive.h) become one profile for the Firefox Profiler. */
#ifndef GECKOBPF_CMD_RAW_PROFILE_H
#define GECKOBPF_CMD_RAW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/filter.h"

struct progress_style;
struct stack_profile;

/* Whether the file behind `path` says that it is one. */
bool is_raw_capture(const char *path);

struct json_format;

struct raw_profile_options {
	const struct json_format *format; /* NULL: the usual one */
	struct profile_filter filter;
	bool addresses; /* no names */
	const char *const *
		symbol_dirs; /* where files and debug files are searched for, besides their own place */
	size_t symbol_dir_count;
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS for what is not found */
	bool lists_unnamed; /* say which files gave no names */
	const struct progress_style *progress;
};

/*
 * Adds them to `profile` as one source called `name`, without a profile in between. Warns of what is missing. 0, or -errno, which has
 * been logged.
 */
int raw_profile_load(const char *const *paths, size_t count,
		     const struct raw_profile_options *options, const char *name,
		     struct stack_profile *profile);

/*
 * Writes the profile to `output_path` (base/output.h). Warns of what is missing. *lost: something was lost when it was
 * recorded, or since. 0, or -errno, which has been logged.
 */
int raw_profile_write(const char *const *paths, size_t count, const char *output_path,
		      const struct raw_profile_options *options, bool *lost);

#endif
