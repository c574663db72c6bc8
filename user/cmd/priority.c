/* SPDX-License-Identifier: BSD-2-Clause */
/* priority.c - see priority.h. */
#include "cmd/priority.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>

#define BEST_NICE (-20)

static int set_policy(int policy, int real_time)
{
	const struct sched_param param = {.sched_priority = real_time};

	return sched_setscheduler(0, policy, &param) ? -errno : 0;
}

/* Not allowed in a cgroup without a real-time budget. */
static int raise_to_real_time(struct priority *priority)
{
	int err = set_policy(SCHED_RR | SCHED_RESET_ON_FORK, 1);

	if (!err)
		priority->now = "SCHED_RR 1";
	return err;
}

static int raise_nice(struct priority *priority)
{
	int err = set_policy(SCHED_OTHER | SCHED_RESET_ON_FORK, 0);

	if (!err && setpriority(PRIO_PROCESS, 0, BEST_NICE))
		err = -errno;
	if (!err)
		priority->now = "nice -20";
	return err;
}

void priority_raise(struct priority *priority)
{
	*priority = (struct priority){
		.policy = sched_getscheduler(0),
		.nice = getpriority(PRIO_PROCESS, 0),
	};
	if ((priority->policy & ~SCHED_RESET_ON_FORK) != SCHED_OTHER) {
		priority->now = "as it was given";
		return;
	}
	priority->error = raise_to_real_time(priority);
	if (priority->error && !raise_nice(priority))
		priority->error = 0;
}

void priority_lower(struct priority *priority)
{
	if (!priority->now)
		return;
	priority->now = NULL;
	/* One that was given has parameters that are not known: this fails, and it stays. */
	(void)set_policy(priority->policy, 0);
	(void)setpriority(PRIO_PROCESS, 0, priority->nice);
}
