/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_source.h - one sampling timer on each online CPU: a perf event on the software CPU clock with a fixed period.
 *
 * Never the kernel's frequency mode, which oversamples wake-ups. Idle CPUs are not sampled.
 */
#ifndef GECKOBPF_CAPTURE_TIMER_SOURCE_H
#define GECKOBPF_CAPTURE_TIMER_SOURCE_H

struct source;

extern const struct source timer_source;

#endif
