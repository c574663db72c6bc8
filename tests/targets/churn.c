/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * churn.c - churn [SECONDS [LEAST]]: creates and joins, one after another, named threads that live for 5
 * to 20 ms; for that long, and until there were that many.
 *
 * Each works in churn_work() all its life. Prints at the end, for each thread,
 *   thread TID NAME START_NS END_NS CPU_NS
 * with its first and last look at CLOCK_MONOTONIC and its CPU time.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "target.h"

#define LIVES_MAX 20000

struct life {
	pid_t tid;
	char name[16];
	uint64_t start_ns, end_ns, cpu_ns, length_ns;
};

static struct life lives[LIVES_MAX];
static volatile uint64_t sink;

static void churn_work(uint64_t until)
{
	uint64_t x = 1;

	while (now_ns() < until)
		WORK(x);
	sink = x;
}

static void *live(void *argument)
{
	struct life *life = argument;

	life->start_ns = now_ns();
	life->tid = (pid_t)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), life->name);
	churn_work(life->start_ns + life->length_ns);
	life->cpu_ns = cpu_ns();
	life->end_ns = now_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1);
	int least = (int)number_argument(argc, argv, 2, 0);
	unsigned int seed = 1;
	int count = 0;

	say_ready();
	while ((now_ns() < end || count < least) && count < LIVES_MAX) {
		struct life *life = &lives[count];
		pthread_t thread;

		snprintf(life->name, sizeof(life->name), "churn-%d", count);
		life->length_ns = 5 * NS_PER_MS + (uint64_t)rand_r(&seed) % (15 * NS_PER_MS);
		if (pthread_create(&thread, NULL, live, life))
			return 1;
		pthread_join(thread, NULL);
		count++;
	}
	for (int i = 0; i < count; i++)
		printf("thread %d %s %llu %llu %llu\n", (int)lives[i].tid, lives[i].name,
		       (unsigned long long)lives[i].start_ns, (unsigned long long)lives[i].end_ns,
		       (unsigned long long)lives[i].cpu_ns);
	return 0;
}
