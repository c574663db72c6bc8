/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm.c - storm [PROGRAM [ARG...]]: one child after the other, each working for 10 ms; with PROGRAM, each runs that.
 *
 *   main ── run_child ── live_shortly ── hot_child
 */
#include <sys/wait.h>

#include "target.h"

#define LIFE_NS (10 * NS_PER_MS)

static volatile uint64_t sink;

__attribute__((noinline)) static void hot_child(uint64_t x)
{
	WORK(x);
	sink += x;
}

__attribute__((noinline)) static void live_shortly(void)
{
	uint64_t end_ns = now_ns() + LIFE_NS;

	while (now_ns() < end_ns)
		hot_child(sink);
}

__attribute__((noinline)) static void run_child(char **argv)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid == 0) {
		if (argv[0])
			execv(argv[0], argv);
		else
			live_shortly();
		_exit(argv[0] != NULL);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	(void)argc;
	say_ready();
	for (;;)
		run_child(argv + 1);
}
