/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.c - see limits.h. */
#include "base/limits.h"

#define BEST_NICE_LIMIT 40 /* as setrlimit(2) counts nice -20 */
#define LEAST_REAL_TIME 2 /* for the recorder; 1 for its readers */

static void raise_to(struct limits *limits, int resource, const struct rlimit *wanted)
{
	struct rlimit before;

	if (getrlimit(resource, &before) || before.rlim_cur >= wanted->rlim_cur ||
	    setrlimit(resource, wanted))
		return;
	limits->items[limits->count].resource = resource;
	limits->items[limits->count++].before = before;
}

/* The hard limit rises with it if it is lower. */
static void raise(struct limits *limits, int resource, rlim_t value)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit))
		return;
	limit.rlim_cur = value;
	if (limit.rlim_max < value)
		limit.rlim_max = value;
	raise_to(limits, resource, &limit);
}

void limits_raise(struct limits *limits)
{
	struct rlimit descriptors;

	*limits = (struct limits){0};
	if (!getrlimit(RLIMIT_NOFILE, &descriptors))
		raise(limits, RLIMIT_NOFILE, descriptors.rlim_max);
	/* Before Linux 5.11 maps of BPF programs count as such memory. */
	raise(limits, RLIMIT_MEMLOCK, RLIM_INFINITY);
	raise(limits, RLIMIT_NICE, BEST_NICE_LIMIT);
	raise(limits, RLIMIT_RTPRIO, LEAST_REAL_TIME);
}

void limits_restore(const struct limits *limits)
{
	size_t i;

	for (i = 0; i < limits->count; i++)
		(void)!setrlimit((__rlimit_resource_t)limits->items[i].resource,
				 &limits->items[i].before);
}
