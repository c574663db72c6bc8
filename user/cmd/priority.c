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
	int err = set_policy(SCHED_RR | SCHED_RESET_ON_FORK, 2);

	/* Those who read files for it come right behind it: reader/hurry.h. */
	priority->now = "SCHED_RR 2";
	if (err) {
		err = set_policy(SCHED_RR | SCHED_RESET_ON_FORK, 1);
		priority->now = err ? NULL : "SCHED_RR 1";
	}
	if (!err) {
		/* For priority_ease(), which may not be allowed to. */
		(void)setpriority(PRIO_PROCESS, 0, BEST_NICE);
	}
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
	*priority = (struct priority){0};
	switch (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) {
	case SCHED_OTHER:
		break;
	case SCHED_BATCH:
	case SCHED_IDLE:
		return; /* behind others is where it is wanted */
	default:
		priority->now = "as it was given";
		return;
	}
	priority->error = raise_to_real_time(priority);
	if (priority->error && !raise_nice(priority))
		priority->error = 0;
	priority->is_ours = !priority->error;
}

void priority_ease(const struct priority *priority)
{
	if (!priority->is_ours)
		return;
	/* To let threads inherit it is a privilege that is gone by now; base/limits.h lets each have it. */
	(void)set_policy(SCHED_OTHER | SCHED_RESET_ON_FORK, 0);
	(void)setpriority(PRIO_PROCESS, 0, BEST_NICE);
}
