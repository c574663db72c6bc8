/* SPDX-License-Identifier: BSD-2-Clause */
/* facts_copy.h - what a recording says of itself, with strings and arrays of its own. */
#ifndef GECKOBPF_RECORDING_FACTS_COPY_H
#define GECKOBPF_RECORDING_FACTS_COPY_H

#include <stddef.h>

#include "recording/recording.h"

/* Zero-initialised is empty. */
struct facts_copy {
	struct recording_facts facts; /* but for `parts` */
	void **items; /* the strings and arrays */
	size_t count, capacity;
};

/* 0 or -ENOMEM; *out, which is empty before, is to be cleared in either case. */
int facts_copy_make(struct facts_copy *out, const struct recording_facts *facts);
void facts_copy_clear(struct facts_copy *copy);

#endif
