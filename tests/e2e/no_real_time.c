/* SPDX-License-Identifier: BSD-2-Clause */
/* no_real_time.c - a library to preload: real-time scheduling is not allowed, as in a cgroup without a budget for it. */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_setscheduler(pid_t tid, int policy, const struct sched_param *param)
{
	const int kind = policy & ~SCHED_RESET_ON_FORK;

	if (kind == SCHED_RR || kind == SCHED_FIFO) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_sched_setscheduler, tid, policy, param);
}
