/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep_source.c - see sleep_source.h. Its other side is bpf/sleep.bpf.h; the programs of switches are attached with those
 * of tasks, and count sleeps while they are told to.
 */
#include "capture/sleep_source.h"

#include "base/log.h"
#include "capture/kernel_side.h"
#include "capture/source.h"

#include <string.h>

static bool is_wanted(const struct source_config *config)
{
	return config->off_cpu;
}

/* The kernel side is all the state there is. */
static int open_sleeps(void **state, struct kernel_side *kernel, const struct source_config *config)
{
	(void)config;
	*state = kernel;
	return 0;
}

static int start(void *state)
{
	kernel_side_begin_sleeps(state);
	return 0;
}

static void stop(void *state)
{
	int err = kernel_side_end_sleeps(state);

	if (err)
		log_debug("sleeps that are under way cannot be listed: %s", strerror(-err));
}

/* Threads are not of a CPU. */
static int follow_cpus(void *state)
{
	(void)state;
	return 0;
}

static const char *const programs[] = {"on_waking", "list_sleepers", NULL};

static const struct source_counter counters[] = {
	{"sleep_samples", GB_STAT_SLEEPS},
	{"sleep_samples_without_stack", GB_STAT_SLEEPS_BARE},
	{"sleeping_threads_no_room", GB_STAT_SLEEPERS_FULL},
	{NULL, 0},
};

const struct source sleep_source = {
	.name = "sleeps",
	.programs = programs,
	.counters = counters,
	.is_wanted = is_wanted,
	.open = open_sleeps,
	.start = start,
	.pause = stop,
	.resume = start,
	.follow_cpus = follow_cpus,
	.stop = stop,
	.close = stop,
};
