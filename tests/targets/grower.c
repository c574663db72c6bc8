/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grower.c - grower NEXT: has 100 MiB more for a while, then 100 MiB less; makes a child that has 40 MiB more than it;
 * executes NEXT, a copy of this program named grower-next, which ends.
 *
 * Where nothing has changed for a while, and each has slept, it prints "held NAME PID NS BYTES": what the kernel says that it
 * has in memory at that time (CLOCK_MONOTONIC).
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "target.h"

#define MIB (1UL << 20)
#define HOLD_NS (60 * NS_PER_MS)

static volatile uint64_t sink;

static unsigned long resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long size, pages = 0;

	if (!file || fscanf(file, "%lu %lu", &size, &pages) != 2)
		exit(1);
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

/* Samples, so that there is something to show; then what it has stays as it is. */
static void hold(const char *name)
{
	uint64_t x = 1, until = cpu_ns() + HOLD_NS;

	while (cpu_ns() < until)
		WORK(x);
	sink = x;
	sleep_ns(HOLD_NS);
	printf("held %s %d %llu %lu\n", name, (int)getpid(), (unsigned long long)now_ns(),
	       resident_bytes());
	fflush(stdout);
}

static char *grow(unsigned long bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	memset(memory, 1, bytes);
	return memory;
}

static void run_child(void)
{
	pid_t child = fork();

	if (!child) {
		(void)grow(40 * MIB);
		hold("child");
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		exit(1);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	char *memory;

	if (strcmp(name, "grower-next") == 0) {
		hold("next");
		return 0;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: grower NEXT\n");
		return 2;
	}
	say_ready();
	hold("small");
	memory = grow(100 * MIB);
	hold("large");
	munmap(memory, 100 * MIB);
	hold("again");
	run_child();
	(void)grow(20 * MIB);
	hold("last");
	execl(argv[1], argv[1], (char *)NULL);
	perror(argv[1]);
	return 1;
}
