/* SPDX-License-Identifier: BSD-2-Clause */
/* measure.h - what the parts of micro.c share: "name number" lines, the clock, the sizes of buffers. */
#ifndef GECKOBPF_TESTS_MEASURE_H
#define GECKOBPF_TESTS_MEASURE_H

#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"

#define BUFFER_BYTES (1ULL << 30)

static inline void print(const char *name, double value)
{
	fprintf(stderr, "%s %.3f\n", name, value);
}

/* CPU time: all of this is one thread that never waits, and the machine may have other things to do. */
static inline uint64_t cpu_now_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#endif
