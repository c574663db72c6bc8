/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crowd.c - crowd EARLY LATE [SECONDS]: EARLY children that work for 20 ms and exit, LATE ones that work to the end.
 *
 * All are forked first, and work at the same time, in early_work() and late_work(). A late child's stacks differ from
 * one moment to the next (16 functions deep, a different path each time), so that a profile buffer has something to hold.
 * The parent prints "early PID" and "late PID" for each, "crowd" when the early ones are gone, and waits for the others.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "target.h"

#define EARLY_NS (20 * NS_PER_MS)
#define DEPTH 16

static volatile uint64_t sink;

static void early_work(void)
{
	uint64_t x = 1, until = cpu_ns() + EARLY_NS;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
}

static void late_a(uint64_t path, int depth);
static void late_b(uint64_t path, int depth);

static inline __attribute__((always_inline)) void late_step(uint64_t path, int depth)
{
	uint64_t x = path;

	if (!depth) {
		WORK(x);
		sink = x;
	} else if (path & 1) {
		late_a(path >> 1, depth - 1);
	} else {
		late_b(path >> 1, depth - 1);
	}
	__asm__ volatile("");
}

static __attribute__((noinline)) void late_a(uint64_t path, int depth)
{
	late_step(path, depth);
}

static __attribute__((noinline)) void late_b(uint64_t path, int depth)
{
	late_step(path, depth);
}

static void late_work(uint64_t end_ns)
{
	uint64_t path = (uint64_t)getpid();

	while (now_ns() < end_ns) {
		path = path * 6364136223846793005ULL + 1442695040888963407ULL;
		late_step(path >> 33, DEPTH);
	}
}

static void start(bool is_late, int number, uint64_t end_ns)
{
	const char *kind = is_late ? "late" : "early";
	char name[16];
	pid_t pid = fork();

	if (pid) {
		printf("%s %d\n", kind, (int)pid);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "%s-%d", kind, number);
	prctl(PR_SET_NAME, name);
	if (is_late)
		late_work(end_ns);
	else
		early_work();
	_exit(0);
}

int main(int argc, char **argv)
{
	int early = (int)number_argument(argc, argv, 1, 0);
	int late = (int)number_argument(argc, argv, 2, 1);
	uint64_t end_ns = deadline_ns(argc, argv, 3);
	int i;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (i = 0; i < late; i++)
		start(true, i, end_ns);
	for (i = 0; i < early; i++)
		start(false, i, end_ns);
	say_ready();
	for (i = 0; i < early; i++)
		wait(NULL);
	puts("crowd");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
