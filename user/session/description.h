/* SPDX-License-Identifier: BSD-2-Clause */
/* description.h - everything that the files of a recording say that is not a sample: for profiles, raw captures and streams. */
#ifndef GECKOBPF_SESSION_DESCRIPTION_H
#define GECKOBPF_SESSION_DESCRIPTION_H

#include "session/facts.h"
#include "profile/profile.h"
#include "session/numbers.h"
#include "session/provenance.h"

struct session;

/* `facts` points into the rest, so it stays where it is. */
struct description {
	struct machine_facts machine;
	struct numbers numbers;
	struct provenance provenance;
	struct recording_facts facts;
	char thread_filter[64];
	const char *threads[2];
	const char *features[4];
};

/* As of now, with the numbers, and without the log. */
void description_collect(const struct session *session, struct description *out);

/* The numbers and how they came about become the log. `symbols_error`: as provenance_add(). */
void description_log(const struct session *session, int symbols_error, struct description *out);

#endif
