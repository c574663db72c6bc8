/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target.h - what the programs that get profiled share: clocks, work that cannot be optimized
 * away, "ready PID".
 *
 * WORK() is a macro, not a function: its samples belong to the function that uses it.
 */
#ifndef GECKOBPF_TESTS_TARGET_H
#define GECKOBPF_TESTS_TARGET_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

/* Some 20 microseconds of arithmetic on `x`, in registers. */
#define WORK(x)                                                                                    \
	do {                                                                                       \
		for (int work_i_ = 0; work_i_ < 20000; work_i_++)                                  \
			(x) = (x)*6364136223846793005ULL + 1442695040888963407ULL;                 \
		__asm__ volatile("" : "+r"(x));                                                    \
	} while (0)

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread. */
static inline uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void sleep_ns(uint64_t ns)
{
	struct timespec time = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

	nanosleep(&time, NULL);
}

/* Until CLOCK_MONOTONIC is there; not at all if it has passed already. */
static inline void sleep_until_ns(uint64_t end_ns)
{
	struct timespec end = {(time_t)(end_ns / NS_PER_S), (long)(end_ns % NS_PER_S)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

/* Argument `index` as a number, or `otherwise`. */
static inline double number_argument(int argc, char **argv, int index, double otherwise)
{
	return index < argc ? atof(argv[index]) : otherwise;
}

/* The end of a program that runs for argument `index` seconds (default: until it is killed). */
static inline uint64_t deadline_ns(int argc, char **argv, int index)
{
	double seconds = number_argument(argc, argv, index, 0);

	return seconds > 0 ? now_ns() + (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

/* Tells the test that everything is set up. */
static inline void say_ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

#endif
