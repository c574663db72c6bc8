/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * renamer.c - renamer [SECONDS]: a process and its thread that change their names while they run.
 *
 * Starts as "renamer" with a thread "early-name". After a line on stdin they become "late-process"
 * and "late-name", and "renamed" is printed. Both work: the main thread in main_work(), the other
 * in thread_work().
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>

#include "target.h"

static uint64_t end_ns;
static volatile bool rename_thread;
static volatile uint64_t sink;

static void work_for(uint64_t ns)
{
	uint64_t x = 1, until = now_ns() + ns;

	while (now_ns() < until)
		WORK(x);
	sink = x;
}

static void *thread_work(void *argument)
{
	bool renamed = false;

	pthread_setname_np(pthread_self(), "early-name");
	pthread_barrier_wait(argument);
	while (now_ns() < end_ns) {
		work_for(NS_PER_MS);
		if (rename_thread && !renamed) {
			pthread_setname_np(pthread_self(), "late-name");
			renamed = true;
			pthread_barrier_wait(argument);
		}
	}
	return NULL;
}

static void main_work(pthread_barrier_t *barrier)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	bool renamed = false;
	char line[16];

	while (now_ns() < end_ns) {
		work_for(NS_PER_MS);
		if (renamed || poll(&input, 1, 0) <= 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			line[0] = '\0';
		prctl(PR_SET_NAME, "late-process");
		rename_thread = true;
		pthread_barrier_wait(barrier);
		renamed = true;
		printf("renamed\n");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	end_ns = deadline_ns(argc, argv, 1);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, thread_work, &barrier);
	pthread_barrier_wait(&barrier);
	say_ready();
	main_work(&barrier);
	/* The thread may wait at the barrier, with nobody left to meet there: end the process. */
	return 0;
}
