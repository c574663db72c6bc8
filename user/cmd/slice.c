/* SPDX-License-Identifier: BSD-2-Clause */
/* slice.c - see slice.h. */
#include "cmd/slice.h"

#include "cmd/arguments.h"
#include "session/conversion.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Some thirty years. */
#define MAX_SECONDS 1e9

static error_t parse_seconds(struct arguments_files *files, const char *option, const char *text,
			     uint64_t *ns)
{
	double seconds = -1;
	char *end = NULL;

	if ((*text >= '0' && *text <= '9') || *text == '.')
		seconds = strtod(text, &end);
	if (!end || *end || !(seconds >= 0 && seconds <= MAX_SECONDS))
		return arguments_reject(files, "--%s %s: not a time; give seconds, such as 1.5",
					option, text);
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static error_t set_to(struct profile_filter *filter, struct arguments_files *files,
		      const char *value)
{
	error_t err = parse_seconds(files, "to", value, &filter->to_ns);

	if (!err && !filter->to_ns)
		return arguments_reject(files, "--to %s: nothing is before that", value);
	return err;
}

error_t slice_option(struct profile_filter *filter, struct arguments_files *files, int key,
		     const char *value)
{
	switch (key) {
	case SLICE_KEY_FROM:
		return parse_seconds(files, "from", value, &filter->from_ns);
	case SLICE_KEY_TO:
		return set_to(filter, files, value);
	case SLICE_KEY_PROCESS:
		filter->process = value;
		return 0;
	case SLICE_KEY_THREAD:
		filter->thread = value;
		return 0;
	case ARGP_KEY_END:
		if (filter->to_ns && filter->to_ns <= filter->from_ns)
			return arguments_reject(files, "--to: not after --from; nothing is left");
		return ARGP_ERR_UNKNOWN;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
