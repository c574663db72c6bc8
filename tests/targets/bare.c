/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bare.c - bare [SECONDS [DEPTH]]: one thread that spends its CPU time in bare_work(), called through DEPTH functions and qsort().
 *
 * Built without frame pointers, unlike all others here: its stacks are known only by unwind tables.
 */
#include "target.h"

static volatile uint64_t sink;

static int bare_work(const void *a, const void *b)
{
	uint64_t x = sink;

	WORK(x);
	sink = x;
	return *(const int *)a - *(const int *)b;
}

static void bare_sort(void)
{
	int numbers[] = {5, 3, 1, 4, 2};

	qsort(numbers, 5, sizeof(numbers[0]), bare_work);
	sink++;
}

static void bare_outer(int depth)
{
	volatile char room[40];

	room[depth % 40] = 1;
	if (depth > 1)
		bare_outer(depth - 1);
	else
		bare_sort();
	sink += (uint64_t)room[depth % 40];
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1);
	int depth = (int)number_argument(argc, argv, 2, 20);

	say_ready();
	while (now_ns() < end)
		bare_outer(depth);
	return 0;
}
