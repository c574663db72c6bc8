/* SPDX-License-Identifier: BSD-2-Clause */
/* slice.c - see slice.h. */
#include "cmd/slice.h"

#include "cmd/usage.h"
#include "cmd/value.h"
#include "session/conversion.h"

#include <errno.h>
#include <stdint.h>

static error_t set_time(struct usage *usage, const char *option, const char *value, uint64_t *ns)
{
	double seconds;
	error_t err = value_seconds_or_0(usage, option, value, &seconds);

	if (!err)
		*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return err;
}

static error_t set_to(struct profile_filter *filter, struct usage *usage, const char *value)
{
	error_t err = set_time(usage, "--to", value, &filter->to_ns);

	if (!err && !filter->to_ns)
		return usage_reject(usage, "--to %s: nothing is before that", value);
	return err;
}

error_t slice_option(struct profile_filter *filter, struct usage *usage, int key, const char *value)
{
	switch (key) {
	case SLICE_KEY_FROM:
		return set_time(usage, "--from", value, &filter->from_ns);
	case SLICE_KEY_TO:
		return set_to(filter, usage, value);
	case SLICE_KEY_PROCESS:
		filter->process = value;
		return 0;
	case SLICE_KEY_THREAD:
		filter->thread = value;
		return 0;
	case ARGP_KEY_END:
		if (filter->to_ns && filter->to_ns <= filter->from_ns)
			return usage_reject(usage, "--to: not after --from; nothing is left");
		return ARGP_ERR_UNKNOWN;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
