/* SPDX-License-Identifier: BSD-2-Clause */
/* redacted_facts.h - what raw captures say of themselves, without what others are not to see (profile/redaction.h). */
#ifndef GECKOBPF_SESSION_REDACTED_FACTS_H
#define GECKOBPF_SESSION_REDACTED_FACTS_H

#include <stddef.h>

#include "recording/recording.h"

struct capture_files;
struct redaction;

/* Zero-initialised is empty. */
struct redacted_facts {
	struct recording_facts whole; /* of all captures */
	void **items; /* arrays and texts that the facts point to */
	size_t count, capacity;
};

/*
 * Changes the facts of `captures`, which then point into `out`; what is left out is counted in `redaction`. 0 or
 * -ENOMEM; *out is to be cleared in either case, when the captures are not looked at any more.
 */
int redacted_facts_make(struct redacted_facts *out, struct capture_files *captures,
			struct redaction *redaction);
void redacted_facts_clear(struct redacted_facts *facts);

#endif
