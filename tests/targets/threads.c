/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - threads [SECONDS]: four named threads that use 100, 50, 10 and 0 % of a CPU, each in
 * a function of its own name.
 *
 * Half and tenth work in periods of 15 to 25 ms, random so that no sampling interval can be in
 * step with them. On SIGUSR1, and at the end, prints a line for each thread:
 *   cpu NAME TID SCHEDSTAT_NS CPU_CLOCK_NS START_NS
 * where the first is what the kernel accounts in /proc (up to a tick old), the second the thread's
 * CPU clock, the third when the thread began (CLOCK_MONOTONIC). The main thread only waits.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "target.h"

#define PERIOD_MIN_NS (15 * NS_PER_MS)
#define PERIOD_RANGE_NS (10 * NS_PER_MS)

struct worker {
	const char *name;
	void (*work)(struct worker *worker);
	pthread_t thread;
	pid_t tid;
	uint64_t started_ns;
};

static uint64_t end_ns;
static pthread_barrier_t set_up;

/* Works for `percent` of each period. */
#define DUTY(percent)                                                                              \
	do {                                                                                       \
		uint64_t x = 1, next = now_ns();                                                   \
		unsigned int seed = (percent);                                                     \
		while (now_ns() < end_ns) {                                                        \
			uint64_t period =                                                          \
				PERIOD_MIN_NS + (uint64_t)rand_r(&seed) % PERIOD_RANGE_NS;         \
			uint64_t until = cpu_ns() + period * (percent) / 100;                      \
			while (cpu_ns() < until)                                                   \
				WORK(x);                                                           \
			next += period;                                                            \
			sleep_until_ns(next);                                                      \
		}                                                                                  \
	} while (0)

static void busy_work(struct worker *worker)
{
	uint64_t x = 1;

	while (now_ns() < end_ns)
		WORK(x);
}

static void half_work(struct worker *worker)
{
	DUTY(50);
}

static void tenth_work(struct worker *worker)
{
	DUTY(10);
}

static void sleeper_work(struct worker *worker)
{
	uint64_t now = now_ns();

	while (now < end_ns) {
		sleep_ns(end_ns - now < NS_PER_S ? end_ns - now : NS_PER_S);
		now = now_ns();
	}
}

static struct worker workers[] = {
	{.name = "busy", .work = busy_work},
	{.name = "half", .work = half_work},
	{.name = "tenth", .work = tenth_work},
	{.name = "sleeper", .work = sleeper_work},
};
#define WORKER_COUNT (sizeof(workers) / sizeof(workers[0]))

static void print_worker(const struct worker *worker)
{
	unsigned long long schedstat = 0;
	clockid_t clock;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)worker->tid);
	file = fopen(path, "r");
	if (file) {
		if (fscanf(file, "%llu", &schedstat) != 1)
			schedstat = 0;
		fclose(file);
	}
	pthread_getcpuclockid(worker->thread, &clock);
	printf("cpu %s %d %llu %llu %llu\n", worker->name, (int)worker->tid, schedstat,
	       (unsigned long long)clock_ns(clock), (unsigned long long)worker->started_ns);
}

static void print_workers(void)
{
	for (size_t i = 0; i < WORKER_COUNT; i++)
		print_worker(&workers[i]);
	printf("now %llu\n", (unsigned long long)now_ns());
	fflush(stdout);
}

static void *run_worker(void *argument)
{
	struct worker *worker = argument;

	worker->started_ns = now_ns();
	worker->tid = (pid_t)syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), worker->name);
	pthread_barrier_wait(&set_up);
	worker->work(worker);
	/* Still here while the numbers are printed, so that they are final. */
	pthread_barrier_wait(&set_up);
	pthread_barrier_wait(&set_up);
	return NULL;
}

static void serve_signals(const sigset_t *signals)
{
	for (;;) {
		uint64_t now = now_ns();
		uint64_t left = end_ns == UINT64_MAX ? 3600 * NS_PER_S : end_ns - now;
		struct timespec wait = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};

		if (now >= end_ns)
			return;
		if (sigtimedwait(signals, NULL, &wait) == SIGUSR1)
			print_workers();
	}
}

int main(int argc, char **argv)
{
	sigset_t signals;

	end_ns = deadline_ns(argc, argv, 1);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_barrier_init(&set_up, NULL, WORKER_COUNT + 1);
	for (size_t i = 0; i < WORKER_COUNT; i++)
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	pthread_barrier_wait(&set_up);
	say_ready();
	serve_signals(&signals);
	pthread_barrier_wait(&set_up);
	print_workers();
	pthread_barrier_wait(&set_up);
	for (size_t i = 0; i < WORKER_COUNT; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}
