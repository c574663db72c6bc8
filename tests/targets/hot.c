/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hot.c - hot [SECONDS [DEPTH]]: one thread whose CPU time is spent to 70 % in hot_inner() and to
 * 30 % in cold_inner().
 *
 * Both are called by hot_outer(), itself DEPTH times recursive. The shares are exact: time is
 * dealt out in slices of the thread's own CPU clock, and who overdraws a slice gets a shorter next
 * one. Slices have random lengths, so that no sampling interval can be in step with them.
 */
#include "target.h"

static volatile uint64_t sink;
static uint64_t hot_until, cold_until, hot_used, cold_used;

static void hot_inner(void)
{
	uint64_t x = sink, start = cpu_ns(), now = start;

	while (hot_used + (now - start) < hot_until) {
		WORK(x);
		WORK(x);
		now = cpu_ns();
	}
	hot_used += now - start;
	sink = x;
}

static void cold_inner(void)
{
	uint64_t x = sink, start = cpu_ns(), now = start;

	while (cold_used + (now - start) < cold_until) {
		WORK(x);
		WORK(x);
		now = cpu_ns();
	}
	cold_used += now - start;
	sink = x;
}

static void hot_outer(int depth)
{
	if (depth > 1) {
		hot_outer(depth - 1);
	} else {
		hot_inner();
		cold_inner();
	}
	sink++;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1);
	int depth = (int)number_argument(argc, argv, 2, 1);
	unsigned int seed = 1;

	say_ready();
	while (now_ns() < end) {
		uint64_t slice = 300 + (uint64_t)rand_r(&seed) % 700;

		hot_until += slice * 7000; /* 2 to 7 ms */
		cold_until += slice * 3000;
		hot_outer(depth);
	}
	printf("hot_inner %llu cold_inner %llu\n", (unsigned long long)hot_used,
	       (unsigned long long)cold_used);
	return 0;
}
