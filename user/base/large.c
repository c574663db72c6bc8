/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - see large.h. */
#include "base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_BYTES ((size_t)1 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

void *large_alloc(size_t bytes)
{
	void *memory;

	if (bytes < LARGE_BYTES)
		return malloc(bytes);
	if (bytes > SIZE_MAX - HUGE_PAGE_BYTES)
		return NULL;
	bytes = (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
	memory = aligned_alloc(HUGE_PAGE_BYTES, bytes);
	if (memory)
		(void)madvise(memory, bytes, MADV_HUGEPAGE); /* small pages do as well */
	return memory;
}
