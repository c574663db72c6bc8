/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * execer.c - execer NEXT [SECONDS_BEFORE [SECONDS_AFTER]]: works in before_exec(), then executes
 * NEXT in the same process.
 *
 * NEXT is a copy of this program named execer-next: started under that name it works in
 * after_exec(), which the first image never calls, at other addresses. At the border the one
 * prints "exec NS", the other "image NS" (CLOCK_MONOTONIC).
 */
#include <string.h>

#include "target.h"

static volatile uint64_t sink;

static void before_exec(uint64_t ns)
{
	uint64_t x = 1, until = cpu_ns() + ns;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
}

static void after_exec(uint64_t ns)
{
	uint64_t x = 2, until = cpu_ns() + ns;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *after = argc > 3 ? argv[3] : "1";

	if (strcmp(name, "execer-next") == 0) {
		printf("image %llu\n", (unsigned long long)now_ns());
		fflush(stdout);
		after_exec((uint64_t)(number_argument(argc, argv, 1, 1) * 1e9));
		return 0;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: execer NEXT [SECONDS_BEFORE [SECONDS_AFTER]]\n");
		return 2;
	}
	say_ready();
	before_exec((uint64_t)(number_argument(argc, argv, 2, 1) * 1e9));
	printf("exec %llu\n", (unsigned long long)now_ns());
	fflush(stdout);
	execl(argv[1], argv[1], after, (char *)NULL);
	perror(argv[1]);
	return 1;
}
