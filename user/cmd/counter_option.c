/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_option.c - see counter_option.h. */
#include "cmd/counter_option.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "cmd/usage.h"

#define BETWEEN ", \n"

static const struct {
	const char *name;
	uint32_t counters;
} words[] = {
	{"memory", 1U << GB_COUNTER_MEMORY},
	{"faults", 1U << GB_COUNTER_FAULTS_MINOR | 1U << GB_COUNTER_FAULTS_MAJOR},
	{"switches", 1U << GB_COUNTER_SWITCHES_VOLUNTARY | 1U << GB_COUNTER_SWITCHES_INVOLUNTARY},
	{"disk", COUNTERS_DISK},
	{"network", COUNTERS_NETWORK},
	{"all", (1U << GB_COUNTER_COUNT) - 1},
	{"none", 0},
};

static bool find(const char *name, size_t length, uint32_t *counters)
{
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].name) == length && !strncmp(words[i].name, name, length)) {
			*counters |= words[i].counters;
			return true;
		}
	return false;
}

error_t counter_option_parse(struct usage *usage, const char *text, uint32_t *out)
{
	const char *at = text + strspn(text, BETWEEN);
	uint32_t counters = 0;

	while (*at) {
		size_t length = strcspn(at, BETWEEN);

		if (!find(at, length, &counters))
			break;
		at += length;
		at += strspn(at, BETWEEN);
	}
	if (*at || !*text)
		return usage_reject(usage,
				    "--counters=%s: not known; give memory, faults, switches, "
				    "disk, network, all or none",
				    text);
	*out = counters;
	return 0;
}
