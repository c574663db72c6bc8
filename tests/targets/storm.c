/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm.c - storm [FORKS_A_SECOND [SECONDS [PROGRAM]]]: forks so many children a second, on a grid of times, each of
 * which executes PROGRAM, or exits at once if there is none.
 *
 * Nobody waits for them. Prints "forked N" at the end.
 */
#include <signal.h>

#include "target.h"

static void run_child(char *program)
{
	char *arguments[] = {program, NULL};

	if (program)
		execv(program, arguments);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t gap_ns = (uint64_t)(1e9 / number_argument(argc, argv, 1, 2000)), next_ns;
	uint64_t end_ns = deadline_ns(argc, argv, 2);
	unsigned long forked = 0;
	uint64_t now;

	signal(SIGCHLD, SIG_IGN); /* the kernel reaps them */
	say_ready();
	next_ns = now_ns();
	while ((now = now_ns()) < end_ns) {
		if (next_ns > now)
			sleep_ns(next_ns - now);
		next_ns += gap_ns;
		if (fork() == 0)
			run_child(argc > 3 ? argv[3] : NULL);
		forked++;
	}
	printf("forked %lu\n", forked);
	return 0;
}
