/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chain.c - chain [SECONDS [DEPTH]]: works at the end of a known chain of calls, with DEPTH calls of step_down() in it; built
 * in all the ways that stacks can differ in.
 *
 *   main ── chain_one ── chain_two ── chain_three ── chain_four ── (step_down ...) ── chain_five ── chain_six
 */
#include "target.h"

#define LINK __attribute__((noinline, noclone))
/* Something to do after the call, so that it is not a jump. */
#define AFTER_CALL(x) __asm__ volatile("" : "+r"(x))

LINK static uint64_t chain_six(uint64_t x)
{
	for (int i = 0; i < 10; i++)
		WORK(x);
	return x;
}

LINK static uint64_t chain_five(uint64_t x)
{
	x = chain_six(x ^ 5);
	AFTER_CALL(x);
	return x;
}

LINK static uint64_t step_down(uint64_t x, int depth)
{
	x = depth > 1 ? step_down(x ^ 7, depth - 1) : chain_five(x);
	AFTER_CALL(x);
	return x;
}

/* Frames of a varying size, and registers that must be saved. */
LINK static uint64_t chain_four(uint64_t x, int depth)
{
	volatile uint64_t room[40] = {x};

	x = depth > 0 ? step_down(x ^ 4, depth) : chain_five(x ^ 4);
	AFTER_CALL(x);
	return x + room[x % 40];
}

LINK static uint64_t chain_three(uint64_t x, int depth, uint64_t end_ns)
{
	while (now_ns() < end_ns) {
		x = chain_four(x ^ 3, depth);
		AFTER_CALL(x);
	}
	return x;
}

LINK static uint64_t chain_two(uint64_t x, int depth, uint64_t end_ns)
{
	volatile char
		room[x % 64 + 16]; /* makes RBP the frame's base, whatever the compiler was told */

	room[0] = 1;
	x = chain_three(x + (uint64_t)room[0], depth, end_ns);
	AFTER_CALL(x);
	return x + (uint64_t)room[0];
}

LINK static uint64_t chain_one(uint64_t x, int depth, uint64_t end_ns)
{
	x = chain_two(x ^ 1, depth, end_ns);
	AFTER_CALL(x);
	return x;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = deadline_ns(argc, argv, 1);

	say_ready();
	return chain_one((uint64_t)argc, (int)number_argument(argc, argv, 2, 0), end_ns) == 42;
}
