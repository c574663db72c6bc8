/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libraries.c - libraries OTHERS.so... DEEP.so: loads all of them, as programs do that begin with a hundred, and then works for
 * three seconds of CPU time in the last, below calls that have 150 kB on the stack.
 *
 *   main ── deep ── ... ── deep ── work
 *
 * Built with -DLIBRARY it is DEEP.so.
 */
#include <dlfcn.h>
#include <time.h>

#include "target.h"

#define CALLS 40
#define FRAME_BYTES 4096
#define CPU_S 3.0

uint64_t deep(int calls, uint64_t x);

#ifdef LIBRARY

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static uint64_t work(uint64_t x)
{
	const double end_s = cpu_s() + CPU_S;

	while (cpu_s() < end_s)
		WORK(x);
	return x;
}

__attribute__((noinline)) uint64_t deep(int calls, uint64_t x)
{
	volatile char frame[FRAME_BYTES];

	frame[0] = (char)x;
	x = calls ? deep(calls - 1, x) : work(x);
	return x + (uint64_t)frame[0];
}

#else

int main(int argc, char **argv)
{
	uint64_t (*last)(int, uint64_t) = NULL;
	int i;

	for (i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);

		if (!library)
			return 2;
		last = (uint64_t(*)(int, uint64_t))dlsym(library, "deep");
	}
	return last ? (int)(last(CALLS, 1) & 1) : 2;
}

#endif
