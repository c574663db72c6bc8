/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat.c - beat [SECONDS]: threads that a timer wakes at round times, as programs have them: each works for a tenth of
 * its period, half of that in early_phase(), half in late_phase(), and sleeps.
 *
 * The threads differ in period (1, 2, 4, 10 ms) and in where in it they wake. Each is called "beat PERIOD+OFFSET", in
 * microseconds. At the end a line for each: "NAME early NS late NS", its CPU time in both.
 */
#include <pthread.h>
#include <string.h>

#include "target.h"

#define NS_PER_US 1000ULL
#define THREADS 8

struct beat {
	uint64_t period_us, offset_us;
	uint64_t early_ns, late_ns;
	pthread_t thread;
	char name[16];
};

static struct beat beats[THREADS] = {
	{.period_us = 1000, .offset_us = 100},  {.period_us = 1000, .offset_us = 350},
	{.period_us = 1000, .offset_us = 600},  {.period_us = 1000, .offset_us = 850},
	{.period_us = 2000, .offset_us = 300},  {.period_us = 2000, .offset_us = 1300},
	{.period_us = 4000, .offset_us = 2500}, {.period_us = 10000, .offset_us = 5700},
};
static uint64_t end_ns;
static volatile uint64_t sink;

static void work(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 2000; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	sink = x;
}

static __attribute__((noinline)) uint64_t early_phase(uint64_t until_ns)
{
	uint64_t now = cpu_ns();

	for (; now < until_ns; now = cpu_ns())
		work();
	sink++;
	return now;
}

static __attribute__((noinline)) uint64_t late_phase(uint64_t until_ns)
{
	uint64_t now = cpu_ns();

	for (; now < until_ns; now = cpu_ns())
		work();
	sink += 2;
	return now;
}

static void *keep_time(void *argument)
{
	struct beat *beat = argument;
	uint64_t period_ns = beat->period_us * NS_PER_US;
	uint64_t half_ns = period_ns / 20;
	uint64_t due_ns = now_ns() / period_ns * period_ns + beat->offset_us * NS_PER_US;

	while (due_ns < end_ns) {
		uint64_t begin, middle, end;

		sleep_until_ns(due_ns);
		begin = cpu_ns();
		middle = early_phase(begin + half_ns);
		end = late_phase(middle + half_ns);
		beat->early_ns += middle - begin;
		beat->late_ns += end - middle;
		due_ns += period_ns;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t i;

	end_ns = deadline_ns(argc, argv, 1);
	for (i = 0; i < THREADS; i++) {
		struct beat *beat = &beats[i];

		snprintf(beat->name, sizeof(beat->name), "beat %u+%u",
			 (unsigned int)beat->period_us, (unsigned int)beat->offset_us);
		if (pthread_create(&beat->thread, NULL, keep_time, beat) ||
		    pthread_setname_np(beat->thread, beat->name))
			return 1;
	}
	say_ready();
	for (i = 0; i < THREADS; i++) {
		pthread_join(beats[i].thread, NULL);
		printf("%s early %llu late %llu\n", beats[i].name,
		       (unsigned long long)beats[i].early_ns, (unsigned long long)beats[i].late_ns);
	}
	return 0;
}
