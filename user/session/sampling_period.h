/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampling_period.h - the time between samples, for the rate that was asked for.
 *
 * Programs have timers of round periods, and 1000 samples a second would meet each wake-up of such a program at the
 * same place, or never. So the period is fixed, and longer by 3.09 % than what was asked for: by a tenth of half the
 * golden ratio, since no multiples of that come near whole numbers soon. Within a second samples then fall everywhere
 * between the ticks of a timer of 1, 2, 4, 10 ms alike. Nearer to what was asked for, a program that works for a tenth
 * of a millisecond would be met 35 times on end and then not for a third of a second; which CPU it is on then is chance.
 */
#ifndef GECKOBPF_SESSION_SAMPLING_PERIOD_H
#define GECKOBPF_SESSION_SAMPLING_PERIOD_H

#include <stdint.h>

/* Nanoseconds; `rate_hz`: as it was asked for, not 0. */
uint64_t sampling_period_ns(uint32_t rate_hz);
/* Samples a second that come of it, rounded. */
uint32_t sampling_rate_hz(uint32_t rate_hz);

#endif
