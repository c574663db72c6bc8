/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numbers.h - what a recording counted: for the summary on the terminal and for the profilingLog.
 */
#ifndef GECKOBPF_SESSION_NUMBERS_H
#define GECKOBPF_SESSION_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "recording/expire.h"
#include "profile/profile.h"

struct session;

#define NUMBERS_MAX 64

struct numbers {
	struct recording_fact facts[NUMBERS_MAX];
	size_t count;
	uint64_t lost; /* samples that were taken, or should have been, and are not in the buffer */
	uint64_t ticks,
		ticks_missed; /* of timers while a target ran: came; should have come as well */
	uint64_t overwritten; /* samples that made room for later ones */
	uint64_t from_ns; /* from then on, whatever was sampled is in the buffer */
	uint64_t used_bytes; /* what is in the buffer */
	uint64_t events_lost; /* names, mappings and threads may be missing */
	struct expire_counts expired; /* what was forgotten, to save memory */
	uint64_t no_room; /* files whose unwind table found no room, for a while at least */
};

/* One more, whose texts must outlive `numbers`. What does not fit is left out. */
void numbers_add(struct numbers *numbers, const struct recording_fact *fact);

/* Another number for the fact of that name. */
void numbers_set(struct numbers *numbers, const char *name, uint64_t value);

void numbers_collect(const struct session *session, struct numbers *out);

/* What was written where, and what is not in it. */
void numbers_print(const struct session *session, const struct numbers *numbers, const char *path,
		   uint64_t bytes, const struct profile_summary *summary);

/* The same of a raw capture. */
void numbers_print_raw(const struct session *session, const struct numbers *numbers,
		       const char *path, uint64_t bytes);

/* What is in a stream, and what is not. */
struct stream_numbers {
	uint64_t bytes, samples;
	uint64_t missed; /* samples that were overwritten too early */
	uint64_t damaged; /* and those that the buffer had, but could not be read */
};

/* The same of a stream. */
void numbers_print_stream(const struct session *session, const struct numbers *numbers,
			  const char *path, const struct stream_numbers *stream);

/* The hottest functions, on stdout, unless the profile is there. */
void numbers_print_top(const char *path, const struct profile_summary *summary);

#endif
