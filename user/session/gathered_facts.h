/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gathered_facts.h - everything that the files of a recording say that is not a sample: for profiles, raw captures and
 * streams.
 */
#ifndef GECKOBPF_SESSION_GATHERED_FACTS_H
#define GECKOBPF_SESSION_GATHERED_FACTS_H

#include "recording/fact_list.h"
#include "recording/recording.h"
#include "session/counters.h"
#include "session/machine_facts.h"

struct session;

/* `facts` points into the rest, so it stays where it is. Zero-initialised is empty. */
struct gathered_facts {
	struct machine_facts machine;
	struct counters counters;
	struct fact_list log;
	struct recording_facts facts;
	char thread_filter[64];
	const char *threads[2];
	const char *features[4];
};

/*
 * As of now, with the counters and losses, and without the log. The losses are the session's: they change when it looks for
 * them again.
 */
void gathered_facts_collect(struct session *session, struct gathered_facts *out);

/*
 * The counters and settings (setting_facts.h) become the log. `symbols_error`: as setting_facts_add(). 0; -ENOMEM: what
 * found no memory is not in it.
 */
int gathered_facts_log(const struct session *session, int symbols_error,
		       struct gathered_facts *out);

void gathered_facts_clear(struct gathered_facts *facts);

#endif
