/* SPDX-License-Identifier: BSD-2-Clause */
/* slice.c - see slice.h. */
#include "cmd/slice.h"

#include "cmd/usage.h"
#include "cmd/value.h"
#include "session/conversion.h"

#include <errno.h>
#include <stdint.h>

enum option_key { KEY_FROM = 0x200, KEY_TO, KEY_PROCESS, KEY_THREAD, KEY_ALL_PROCESSES };

static const struct argp_option table[] = {
	{"from", KEY_FROM, "SECONDS", 0,
	 "Of raw captures: samples from then on, since the start of the recording", 0},
	{"to", KEY_TO, "SECONDS", 0, "Of raw captures: samples before then", 0},
	{"process", KEY_PROCESS, "PID|NAME", 0,
	 "Of raw captures: these processes only; NAME may have wildcards", 0},
	{"thread", KEY_THREAD, "TID|NAME", 0,
	 "Of raw captures: these threads only; NAME may have wildcards", 0},
	{"all-processes", KEY_ALL_PROCESSES, NULL, 0,
	 "Of raw captures: each process by itself; otherwise short ones are gathered", 0},
	{0},
};

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

static error_t parse(int key, char *value, struct argp_state *state)
{
	const struct slice *slice = state->input;
	struct profile_filter *filter = slice->filter;

	switch (key) {
	case KEY_FROM:
		return set_time(slice->usage, "--from", value, &filter->from_ns);
	case KEY_TO:
		return set_to(filter, slice->usage, value);
	case KEY_PROCESS:
		filter->process = value;
		return 0;
	case KEY_THREAD:
		filter->thread = value;
		return 0;
	case KEY_ALL_PROCESSES:
		filter->each_process = true;
		return 0;
	case ARGP_KEY_END:
		if (filter->to_ns && filter->to_ns <= filter->from_ns)
			return usage_reject(slice->usage,
					    "--to: not after --from; nothing is left");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp slice_argp = {.options = table, .parser = parse};
