/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiter.c - waiter [SECONDS]: waits in different ways, each in a function of its own name, and works for the rest.
 *
 * At the end prints how long it was in each, by the clock, a line "NAME NS" each. Beside it is a
 * thread called "holder", which holds the lock and writes to the pipe, and one called "forever", which never wakes up.
 */
#include <pthread.h>

#include "target.h"

struct phase {
	const char *name;
	void (*run)(void);
	uint64_t ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int to_holder[2], to_waiter[2];
static volatile uint64_t sink;

static void put_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

static void get_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(1);
}

static __attribute__((noinline)) void nap(void)
{
	sleep_ns(30 * NS_PER_MS);
	sink++;
}

static __attribute__((noinline)) void read_pipe(void)
{
	get_byte(to_waiter[0]);
	sink++;
}

static __attribute__((noinline)) void take_lock(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	sink++;
}

static __attribute__((noinline)) void compute(void)
{
	uint64_t end_ns = cpu_ns() + 30 * NS_PER_MS, x = 1;

	while (cpu_ns() < end_ns)
		WORK(x);
	sink = x;
	put_byte(to_holder[1]); /* it begins to wait for that only now */
}

/* Has the lock before it answers, so whoever has the answer waits for the lock. */
static void *hold(void *argument)
{
	for (;;) {
		get_byte(to_holder[0]);
		sleep_ns(15 * NS_PER_MS);
		pthread_mutex_lock(&lock);
		put_byte(to_waiter[1]);
		sleep_ns(20 * NS_PER_MS);
		pthread_mutex_unlock(&lock);
	}
	return argument;
}

static void *wait_forever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void start(const char *name, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) || pthread_setname_np(thread, name))
		exit(1);
}

int main(int argc, char **argv)
{
	static struct phase phases[] = {
		{"compute", compute, 0},
		{"read_pipe", read_pipe, 0},
		{"take_lock", take_lock, 0},
		{"nap", nap, 0},
	};
	const size_t count = sizeof(phases) / sizeof(*phases);
	uint64_t end_ns = deadline_ns(argc, argv, 1);
	size_t i;

	if (pipe(to_holder) || pipe(to_waiter))
		return 1;
	start("holder", hold);
	start("forever", wait_forever);
	say_ready();
	while (now_ns() < end_ns)
		for (i = 0; i < count; i++) {
			uint64_t begin_ns = now_ns();

			phases[i].run();
			phases[i].ns += now_ns() - begin_ns;
		}
	for (i = 0; i < count; i++)
		printf("%s %llu\n", phases[i].name, (unsigned long long)phases[i].ns);
	return 0;
}
