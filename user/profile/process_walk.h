/* SPDX-License-Identifier: BSD-2-Clause */
/* process_walk.h - a process of the profile: the buffers of its images are read once, into the sink. */
#ifndef GECKOBPF_PROFILE_PROCESS_WALK_H
#define GECKOBPF_PROFILE_PROCESS_WALK_H

#include <stdbool.h>

#include "profile/profile.h"

struct family;
struct gather_track;
struct libs;
struct process;
struct symbols;
struct tally;

/* A process as a piece of work. */
#define PROCESS_UNITS 100

/* What the walk over all processes shares, borrowed, and what it counts. */
struct profile_pass {
	const struct profile_input *input;
	const struct profile_input
		*source; /* whose processes are read: the input, or one behind it */
	struct profile_sink *sink;
	struct libs *libs; /* of the source */
	struct symbols *symbols; /* the same; NULL: no names are wanted */
	struct tally *tally;
	const struct family *family; /* of the source */
	const struct process *busiest; /* the same: of those that are shown; NULL: none is */
	uint32_t source_count; /* those that were begun */
	struct profile_summary summary; /* without the top */
};

/*
 * Sends the process to the sink, if it has samples, or CPU time, or `keep_empty`; `progress`: a piece of PROCESS_UNITS. 0, -ENOMEM,
 * or the sink's error.
 */
int process_walk(struct profile_pass *pass, const struct gather_track *track, bool keep_empty,
		 struct progress *progress);

#endif
