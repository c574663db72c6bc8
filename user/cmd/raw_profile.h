/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_profile.h - a raw capture (archive/archive.h) becomes a Gecko profile. */
#ifndef GECKOBPF_CMD_RAW_PROFILE_H
#define GECKOBPF_CMD_RAW_PROFILE_H

#include <stdbool.h>

#include "base/progress.h"

/* Whether the file behind `path` says that it is one. */
bool is_raw_capture(const char *path);

struct raw_profile_options {
	bool addresses; /* no names */
	bool is_quiet; /* the profile is for ourselves */
	enum progress_style progress;
};

/*
 * Writes the profile to `output_path` (gecko/output.h). Warns of what is missing. 0, or -errno, which has been logged.
 */
int raw_profile_write(const char *path, const char *output_path,
		      const struct raw_profile_options *options);

#endif
