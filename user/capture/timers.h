/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timers.h - one sampling timer on each online CPU: a perf event on the software CPU clock with a fixed period.
 *
 * Never the kernel's frequency mode, which oversamples wake-ups. CPUs that come online later get their timer from
 * timers_update(). Idle CPUs are not sampled.
 */
#ifndef GECKOBPF_CAPTURE_TIMERS_H
#define GECKOBPF_CAPTURE_TIMERS_H

#include <stddef.h>
#include <stdint.h>

struct kernel_side;
struct timers;

/* Starts the timers: samples flow when this returns. `kernel` is borrowed. 0 or -errno of perf_event_open(2). */
int timers_open(struct timers **out, struct kernel_side *kernel, uint64_t period_ns);

/* Starts timers on CPUs that came online and drops those of CPUs that left. Returns how many were started, or -errno. */
int timers_update(struct timers *timers);

/* Stops sampling. NULL is fine. */
void timers_close(struct timers *timers);

#endif
