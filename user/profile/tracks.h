/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracks.h - which processes of a recording have a track of their own in the profile: it is known before their buffers
 * are walked, since markers of one stand on the track of another.
 */
#ifndef GECKOBPF_PROFILE_TRACKS_H
#define GECKOBPF_PROFILE_TRACKS_H

#include <stdbool.h>

struct gathering;
struct process;
struct profile_filter;
struct recording;
struct tracks;

/* All is borrowed. 0 or -ENOMEM. */
int tracks_open(struct tracks **out, const struct recording *recording,
		const struct profile_filter *filter, const struct gathering *gathering);
/* NULL is fine. */
void tracks_close(struct tracks *tracks);

/* A process that was asked for is shown even if it never ran, but only as what it was at the end. */
bool tracks_keep_empty(const struct recording *recording, const struct process *process);

/* The process that an image is part of; NULL: it is gathered with others. */
const struct process *tracks_process(const struct tracks *tracks, const struct process *image);

/*
 * Whether a process that is not gathered has one. Reads the process's buffer up to the first sample that the profile has, when it is first asked for it. 0; -ENOMEM; or
 * -errno of reading.
 */
int tracks_find(struct tracks *tracks, const struct process *process, bool *has_track);

/*
 * *out: the process that used most CPU time, of those that have one and are not gathered; NULL: there is none. Errors as
 * above.
 */
int tracks_busiest(struct tracks *tracks, const struct process **out);

#endif
