/* SPDX-License-Identifier: BSD-2-Clause */
/* timers.c - see timers.h. `links[cpu]` is NULL where no timer runs. */
#include "capture/timers.h"

#include "capture/cpus.h"
#include "capture/kernel_side.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct timers {
	struct kernel_side *kernel;
	uint64_t period_ns;
	struct bpf_link *links[CPUS_MAX];
};

static int start(struct timers *timers, unsigned int cpu)
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
	err = kernel_side_attach_timer(timers->kernel, fd, &timers->links[cpu]);
	if (err) {
		close(fd);
		return err;
	}
	return 0;
}

static void stop(struct timers *timers, unsigned int cpu)
{
	bpf_link__destroy(timers->links[cpu]);
	timers->links[cpu] = NULL;
}

int timers_update(struct timers *timers)
{
	struct cpu_set online;
	int started = 0, err;
	unsigned int cpu;

	err = cpus_online(&online);
	if (err)
		return err;
	for (cpu = 0; cpu < CPUS_MAX; cpu++) {
		if (!cpus_has(&online, cpu) && timers->links[cpu])
			stop(timers, cpu);
		if (!cpus_has(&online, cpu) || timers->links[cpu])
			continue;
		err = start(timers, cpu);
		if (err == -ENODEV || err == -ENXIO)
			continue; /* it went offline meanwhile */
		if (err)
			return err;
		started++;
	}
	return started;
}

int timers_open(struct timers **out, struct kernel_side *kernel, uint64_t period_ns)
{
	struct timers *timers = calloc(1, sizeof(*timers));
	int started;

	if (!timers)
		return -ENOMEM;
	timers->kernel = kernel;
	timers->period_ns = period_ns;
	started = timers_update(timers);
	if (started < 0) {
		timers_close(timers);
		return started;
	}
	*out = timers;
	return 0;
}

void timers_close(struct timers *timers)
{
	unsigned int cpu;

	if (!timers)
		return;
	for (cpu = 0; cpu < CPUS_MAX; cpu++)
		if (timers->links[cpu])
			stop(timers, cpu);
	free(timers);
}
