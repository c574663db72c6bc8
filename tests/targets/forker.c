/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forker.c - forker [CHILDREN [LIFE_MS [GAP_MS]]]: forks children, one after another, that work
 * for LIFE_MS of CPU time and exit.
 *
 * GAP_MS apart, the parent sleeping. Child N is named "child-N" and works in child_work(). Prints
 * for each child, after it is gone,
 *   child PID START_NS END_NS
 * with the parent's times (CLOCK_MONOTONIC) right before fork() and right after the child was
 * reaped. Begins after a line (or the end) on stdin if stdin is not a terminal, so that a profiler
 * can be attached before the first fork.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target.h"

static volatile uint64_t sink;

static void child_work(uint64_t ns)
{
	uint64_t x = 1, until = cpu_ns() + ns;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
}

static void run_child(int number, uint64_t life_ns)
{
	char name[16];
	uint64_t start, end;
	pid_t pid;

	start = now_ns();
	pid = fork();
	if (pid == 0) {
		snprintf(name, sizeof(name), "child-%d", number);
		prctl(PR_SET_NAME, name);
		child_work(life_ns);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	end = now_ns();
	printf("child %d %llu %llu\n", (int)pid, (unsigned long long)start,
	       (unsigned long long)end);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int children = (int)number_argument(argc, argv, 1, 4);
	uint64_t life_ns = (uint64_t)(number_argument(argc, argv, 2, 300) * 1e6);
	uint64_t gap_ns = (uint64_t)(number_argument(argc, argv, 3, 50) * 1e6);
	char line[16];

	say_ready();
	if (!isatty(0) && !fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	for (int i = 0; i < children; i++) {
		run_child(i, life_ns);
		sleep_ns(gap_ns);
	}
	return 0;
}
