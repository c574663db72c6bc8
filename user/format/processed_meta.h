/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_meta.h - "meta" in the processed format: what the profile says of itself, and what is shown at first. */
#ifndef GECKOBPF_FORMAT_PROCESSED_META_H
#define GECKOBPF_FORMAT_PROCESSED_META_H

#include <stdbool.h>
#include <stdint.h>

#include "format/busiest.h"

struct json;
struct profile_input;
struct profile_summary;

/* What the front-end shows at first, by numbers of threads. The busiest of all is selected. */
struct processed_shown {
	struct busiest busiest;
	bool has_target;
	uint32_t target; /* the first process that was asked for */
	char *arguments; /* its command line, if it is wanted; NULL: not */
};

/* The value of "meta". */
void processed_meta_write(struct json *json, const struct profile_input *input,
			  const struct processed_shown *shown,
			  const struct profile_summary *summary);

#endif
