/* SPDX-License-Identifier: BSD-2-Clause */
/* timer_source.c - see timer_source.h. `links[cpu]` is NULL where no timer runs. Its other side is bpf/timer.bpf.c. */
#include "capture/timer_source.h"

#include "base/clock.h"
#include "capture/cpus.h"
#include "capture/kernel_side.h"
#include "capture/source.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/types.h>

#include "geckobpf.skel.h"
#include "geckobpf_abi.h"

struct timers {
	struct geckobpf *skel; /* borrowed */
	uint64_t period_ns;
	struct bpf_link *links[CPUS_MAX];
};

static bool is_wanted(const struct source_config *config)
{
	return config->period_ns > 0;
}

static int open_timers(void **state, struct kernel_side *kernel, const struct source_config *config)
{
	struct timers *timers = calloc(1, sizeof(*timers));

	if (!timers)
		return -ENOMEM;
	timers->skel = kernel_side_skeleton(kernel);
	timers->period_ns = config->period_ns;
	*state = timers;
	return 0;
}

/* The event belongs to the link. */
static int attach(struct timers *timers, int fd, unsigned int cpu)
{
	struct bpf_link *link = bpf_program__attach_perf_event(timers->skel->progs.on_timer, fd);

	if (!link)
		return -errno;
	timers->skel->data->timers_since_ns = clock_now_ns();
	timers->links[cpu] = link;
	return 0;
}

static int start_on(struct timers *timers, unsigned int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = timers->period_ns,
		.exclude_idle = 1,
	};
	int fd, err;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = attach(timers, fd, cpu);
	if (err)
		close(fd);
	return err;
}

static void stop_on(struct timers *timers, unsigned int cpu)
{
	bpf_link__destroy(timers->links[cpu]);
	timers->links[cpu] = NULL;
}

static void stop_all(void *state)
{
	struct timers *timers = state;
	unsigned int cpu;

	timers->skel->data->timers_since_ns = UINT64_MAX;
	for (cpu = 0; cpu < CPUS_MAX; cpu++)
		if (timers->links[cpu])
			stop_on(timers, cpu);
}

static int follow_cpus(void *state)
{
	struct timers *timers = state;
	struct cpu_set online;
	unsigned int cpu;
	int err;

	err = cpus_online(&online);
	for (cpu = 0; cpu < CPUS_MAX && !err; cpu++) {
		if (!cpus_has(&online, cpu) && timers->links[cpu])
			stop_on(timers, cpu);
		if (!cpus_has(&online, cpu) || timers->links[cpu])
			continue;
		err = start_on(timers, cpu);
		if (err == -ENODEV || err == -ENXIO)
			err = 0; /* it went offline meanwhile */
	}
	return err;
}

static int start_all(void *state)
{
	int err = follow_cpus(state);

	if (err)
		stop_all(state);
	return err;
}

static void close_timers(void *state)
{
	stop_all(state);
	free(state);
}

static const char *const programs[] = {"on_timer", NULL};

static const struct source_counter counters[] = {
	{"timer_ticks", GB_STAT_TICKS},
	{"timer_ticks_of_other_threads", GB_STAT_TICKS_NOT_PICKED},
	{NULL, 0},
};

const struct source timer_source = {
	.name = "timer",
	.event = "cpu-clock",
	.programs = programs,
	.counters = counters,
	.is_wanted = is_wanted,
	.open = open_timers,
	.start = start_all,
	.pause = stop_all,
	.resume = start_all,
	.follow_cpus = follow_cpus,
	.stop = stop_all,
	.close = close_timers,
};
