/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h - the one clock of a recording is CLOCK_MONOTONIC in nanoseconds, as in the BPF programs. */
#ifndef GECKOBPF_BASE_CLOCK_H
#define GECKOBPF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* Nanoseconds of CLOCK_MONOTONIC: bpf_ktime_get_ns() of the kernel side. */
static inline uint64_t clock_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
