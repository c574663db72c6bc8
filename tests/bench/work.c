/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * work.c - work THREADS DEPTH PATHS [UNITS]: busy threads whose stacks are as deep and as many as the benchmark wants.
 *
 *   main ── start_thread ── run ── step_3 ── step_12 ── ... ── step_7 ── burn
 *                                  '------- DEPTH of them -------'
 *
 * A path is a number: which of 16 functions is called at each level follows from it. PATHS is how many there are, in random
 * turns; 1: all stacks are the same; 0: hardly any two. A unit is one walk down a path with some 20 microseconds of arithmetic
 * at its end. Without UNITS the program runs until it is killed; otherwise it waits for a line on stdin, each thread does as
 * many units, and it prints "wall_ns N cpu_ns N".
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define BURN_ROUNDS 16000

struct walk {
	uint64_t path;
	uint64_t value;
};

typedef void (*step)(struct walk *walk, unsigned int depth);

static uint64_t path_count, unit_count;
static unsigned int max_depth;
static const step steps[16];

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
	value = (value ^ value >> 27) * 0x94d049bb133111ebU;
	return value ^ value >> 31;
}

static __attribute__((noinline)) void burn(struct walk *walk)
{
	uint64_t value = walk->value;
	int i;

	for (i = 0; i < BURN_ROUNDS; i++)
		value = value * 6364136223846793005U + 1442695040888963407U;
	walk->value = value;
	__asm__ volatile("" ::: "memory");
}

/* What follows the call keeps it from becoming a jump. */
static inline __attribute__((always_inline)) void go_on(struct walk *walk, unsigned int depth)
{
	if (depth)
		steps[mix(walk->path + depth) & 15](walk, depth - 1);
	else
		burn(walk);
	__asm__ volatile("" ::: "memory");
}

#define STEP(number)                                                                               \
	static __attribute__((noinline)) void step_##number(struct walk *walk, unsigned int depth) \
	{                                                                                          \
		walk->value += number;                                                             \
		go_on(walk, depth);                                                                \
	}

STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)
STEP(5)
STEP(6)
STEP(7)
STEP(8)
STEP(9)
STEP(10)
STEP(11)
STEP(12)
STEP(13)
STEP(14)
STEP(15)

static const step steps[16] = {
	step_0, step_1, step_2,  step_3,  step_4,  step_5,  step_6,  step_7,
	step_8, step_9, step_10, step_11, step_12, step_13, step_14, step_15,
};

static void *run(void *argument)
{
	struct walk walk = {.value = (uintptr_t)argument};
	uint64_t unit, random;

	for (unit = 0; !unit_count || unit < unit_count; unit++) {
		random = mix(walk.value + unit);
		walk.path = path_count ? mix(random % path_count) : random;
		go_on(&walk, max_depth);
	}
	return NULL;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int run_threads(size_t count)
{
	pthread_t threads[MAX_THREADS];
	size_t i;

	for (i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(i + 1)))
			return 1;
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	size_t threads = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	uint64_t wall_ns, cpu_ns;

	if (!threads || threads > MAX_THREADS) {
		fprintf(stderr, "usage: work THREADS DEPTH PATHS [UNITS]\n");
		return 2;
	}
	max_depth = (unsigned int)strtoul(argv[2], NULL, 10);
	path_count = strtoul(argv[3], NULL, 10);
	unit_count = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (unit_count && getchar() == EOF)
		return 1;
	wall_ns = clock_ns(CLOCK_MONOTONIC);
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (run_threads(threads))
		return 1;
	printf("wall_ns %" PRIu64 " cpu_ns %" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC) - wall_ns,
	       clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
	return 0;
}
