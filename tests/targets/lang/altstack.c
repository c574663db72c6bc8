/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * altstack.c - a thread that is interrupted again and again by a signal whose handler, the hotter of the two, runs on an
 * alternate stack.
 *
 *   work_on ── interrupted_work ── (signal) ── on_signal ── hot_handler
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "target.h"

#define STACK_BYTES 65536

static volatile uint64_t sink;

__attribute__((noinline)) static void hot_handler(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 150; i++)
		WORK(x);
	sink += x;
}

static void on_signal(int number)
{
	hot_handler();
	sink += (uint64_t)number;
}

__attribute__((noinline)) static void interrupted_work(void)
{
	uint64_t x = sink;

	WORK(x);
	sink += x;
}

static void *work_on(void *unused)
{
	static char memory[STACK_BYTES];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	sigset_t set;

	if (sigaltstack(&stack, NULL))
		exit(1);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	say_ready();
	for (;;)
		interrupted_work();
	return unused;
}

int main(void)
{
	struct itimerval often = {{0, 5000}, {0, 5000}};
	struct sigaction action;
	pthread_t thread;
	sigset_t set;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, work_on, NULL))
		return 1;
	setitimer(ITIMER_REAL, &often, NULL);
	pthread_join(thread, NULL);
	return 0;
}
