/* SPDX-License-Identifier: BSD-2-Clause */
/* measure.h - what the measuring programs share: "name number" lines, clocks, the peak of memory, the size of buffers. */
#ifndef GECKOBPF_TESTS_MEASURE_H
#define GECKOBPF_TESTS_MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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

/* A line of /proc/self/status in MB: "VmRSS", "VmHWM". Not getrusage(), whose peak is that of who started us, if it was larger. */
static inline double memory_mb(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[256], what[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63[^:]: %lu kB", what, &kb) == 2 && !strcmp(what, name))
			break;
	if (file)
		fclose(file);
	return (double)kb / 1024;
}

/* From now on the peak is that of what comes. */
static inline void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "w");

	if (!file || fputs("5", file) < 0 || fclose(file))
		perror("/proc/self/clear_refs");
}

/* Random bits, the same for the same value. */
static inline uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}

#endif
