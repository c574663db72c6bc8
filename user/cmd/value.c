/* SPDX-License-Identifier: BSD-2-Clause */
/* value.c - see value.h. */
#include "cmd/value.h"

#include "cmd/usage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_SECONDS 1e9
#define MIB ((uint64_t)1 << 20)

struct unit {
	const char *name;
	double factor;
};

static const struct unit time_units[] = {
	{"", 1},   {"s", 1},    {"sec", 1},  {"ms", 1e-3}, {"us", 1e-6},
	{"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {0},
};

static const struct unit size_units[] = {
	{"", 1},      {"M", 1},      {"MB", 1},         {"MiB", 1},          {"G", 1024},
	{"GB", 1024}, {"GiB", 1024}, {"K", 1.0 / 1024}, {"KiB", 1.0 / 1024}, {0},
};

/* A number from 0 on with one of the units. False: it is none. */
static bool parse(const char *text, const struct unit *units, double *out)
{
	char *end;

	/* Not what strtod(3) takes besides: signs, nan, inf, hexadecimal. */
	if (strspn(text, "0123456789.") == 0 || text[strcspn(text, "xX")])
		return false;
	*out = strtod(text, &end);
	if (end == text)
		return false;
	for (; units->name; units++) {
		if (strcasecmp(end, units->name) != 0)
			continue;
		*out *= units->factor;
		return true;
	}
	return false;
}

error_t value_count(struct usage *usage, const char *option, const char *text, size_t most,
		    size_t *out)
{
	char *end = NULL;

	errno = 0;
	if (*text >= '0' && *text <= '9')
		*out = strtoul(text, &end, 10);
	if (end && !*end && !errno && *out <= most)
		return 0;
	return usage_reject(usage, "%s %s: not a number; give a count, such as 10", option, text);
}

error_t value_mode(struct usage *usage, const char *option, const char *text, mode_t *out)
{
	unsigned long mode;
	char *end;

	/* Not what strtoul(3) takes besides: signs, blanks. */
	mode = *text >= '0' && *text <= '7' ? strtoul(text, &end, 8) : 0;
	if (mode && !*end && strlen(text) <= 4 && !(mode & ~0666UL) && (mode & 0600) == 0600) {
		*out = (mode_t)mode;
		return 0;
	}
	return usage_reject(usage,
			    "%s %s: not a mode of a file; give who may read and write it, beside "
			    "its owner, such as 0640 or 0644",
			    option, text);
}

static error_t reject_time(struct usage *usage, const char *option, const char *text)
{
	return usage_reject(usage, "%s %s: not a time; give seconds, such as 10 or 0.5, or 90s, 2m",
			    option, text);
}

error_t value_seconds_or_0(struct usage *usage, const char *option, const char *text, double *out)
{
	double seconds;

	if (!parse(text, time_units, &seconds) || seconds > MAX_SECONDS)
		return reject_time(usage, option, text);
	*out = seconds;
	return 0;
}

error_t value_seconds(struct usage *usage, const char *option, const char *text, double *out)
{
	double seconds = 0;
	error_t err = value_seconds_or_0(usage, option, text, &seconds);

	if (err)
		return err;
	if (!(seconds > 0))
		return reject_time(usage, option, text);
	*out = seconds;
	return 0;
}

error_t value_mib(struct usage *usage, const char *option, const char *text, uint64_t least_mib,
		  uint64_t most_mib, uint64_t *out)
{
	double mib;

	if (!parse(text, size_units, &mib) || mib < (double)least_mib || mib > (double)most_mib ||
	    mib != (double)(uint64_t)mib)
		return usage_reject(usage,
				    "%s %s: out of range; give %" PRIu64 " to %" PRIu64
				    " MiB, such as 64, 64M or 1G",
				    option, text, least_mib, most_mib);
	*out = (uint64_t)mib * MIB;
	return 0;
}
