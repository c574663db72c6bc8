/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling_period.c - see sampling_period.h. */
#include "session/sampling_period.h"

#include "base/clock.h"

/* 1 + (sqrt(5) - 1) / 40, in billionths. */
#define LONGER 1030901699ULL

uint64_t sampling_period_ns(uint32_t rate_hz)
{
	return (LONGER + rate_hz / 2) / rate_hz;
}

uint32_t sampling_rate_hz(uint32_t rate_hz)
{
	uint64_t period_ns = sampling_period_ns(rate_hz);

	return (uint32_t)((NS_PER_SEC + period_ns / 2) / period_ns);
}
