/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampling_period.h - the time between samples, for the rate that was asked for.
 *
 * Programs have timers of round periods, and 1000 samples a second would meet each wake-up of such a program at the
 * same place, or never. So the period is fixed, and longer by 0.309 % than what was asked for: by a hundredth of half
 * the golden ratio, since no multiples of that come near whole numbers soon. Within a minute samples then fall
 * everywhere between the ticks of a timer of 1, 2, 4, 10 ms alike.
 */
#ifndef GECKOBPF_SESSION_SAMPLING_PERIOD_H
#define GECKOBPF_SESSION_SAMPLING_PERIOD_H

#include <stdint.h>

/* Nanoseconds; `rate_hz`: as it was asked for, not 0. */
uint64_t sampling_period_ns(uint32_t rate_hz);
/* Samples a second that come of it, rounded. */
uint32_t sampling_rate_hz(uint32_t rate_hz);

#endif
