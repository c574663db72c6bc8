/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deep.c - deep [SECONDS]: works below a thousand calls, each of whose frames is larger than what is read of a stack at once.
 */
#include "target.h"

#define CALLS 1000
#define FRAME_BYTES 512

static volatile uint64_t sink;

static void go_down(int calls, uint64_t end)
{
	volatile char frame[FRAME_BYTES];
	uint64_t x = sink;

	frame[0] = (char)calls;
	if (calls)
		go_down(calls - 1, end);
	else
		while (now_ns() < end)
			WORK(x);
	sink = x + (uint64_t)frame[0];
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1);

	say_ready();
	go_down(CALLS, end);
	return 0;
}
