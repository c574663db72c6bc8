/* SPDX-License-Identifier: BSD-2-Clause */
/* plugin.c - a shared object with a hot function, NAME, with ROOM words in its frame, that calls back: see loader.c. */
#include "target.h"

uint64_t NAME(uint64_t (*callback)(uint64_t), uint64_t x);

__attribute__((noinline)) uint64_t NAME(uint64_t (*callback)(uint64_t), uint64_t x)
{
	volatile uint64_t room[ROOM] = {x};

	WORK(x);
	return callback(x) + room[x % ROOM];
}
