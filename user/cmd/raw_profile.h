/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_profile.h - raw captures become a profile, or part of a stack profile, with all that a command prints about it:
 * session/conversion.h does the work.
 */
#ifndef GECKOBPF_CMD_RAW_PROFILE_H
#define GECKOBPF_CMD_RAW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "session/conversion.h"

struct progress_style;
struct stack_profile;

struct raw_profile_options {
	struct conversion_options conversion; /* raw_profile.c sets what is told and shown */
	bool lists_unnamed; /* say which files gave no names */
	const struct progress_style *progress; /* NULL: none is shown */
};

/*
 * Adds them to `profile` as one source called `name`, without a profile in between. Warns of what is missing. 0, or
 * -errno, which has been logged.
 */
int raw_profile_load(const char *const *paths, size_t count,
		     const struct raw_profile_options *options, const char *name,
		     struct stack_profile *profile);

/*
 * Writes the profile to `output_path` (base/output.h). Warns of what is missing. *lost: the recordings had lost
 * something. 0, or -errno, which has been logged.
 */
int raw_profile_write(const char *const *paths, size_t count, const char *output_path,
		      const struct raw_profile_options *options, bool *lost);

#endif
