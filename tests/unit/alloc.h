/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - lets a unit test fail the Nth allocation.
 *
 * Unit tests are linked with --wrap=malloc,calloc,realloc, so each test binary includes this once:
 * it defines the wrappers. Only calls from our own objects come here; allocations inside libraries
 * do not. After cmocka.h:
 *
 *   static int attempt(void *context) { ... open, use, close; return 0 or -ENOMEM ... }
 *   assert_true(alloc_fail_each(attempt, NULL) > 0);
 *
 * Where a failed allocation need not end in -ENOMEM, loop by hand:
 *
 *   for (n = 1; ; n++) {
 *           alloc_fail_at(n);
 *           err = ...;
 *           if (!alloc_fail_stop())
 *                   break;                  n - 1 allocations were failed, this run saw none
 *           ...what must hold after a failure...
 *   }
 */
#ifndef GECKOBPF_TESTS_ALLOC_H
#define GECKOBPF_TESTS_ALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static _Atomic size_t alloc_countdown; /* this many allocations from now one fails; 0: none */
static _Atomic bool alloc_hit; /* one failed since alloc_fail_at() */
static _Atomic size_t alloc_calls; /* allocations asked for since the program began */

/* The `n`th allocation from now fails, once; 0: none does. */
static inline void alloc_fail_at(size_t n)
{
	alloc_countdown = n;
	alloc_hit = false;
}

/* No allocation fails any more. Whether one did since alloc_fail_at(). */
static inline bool alloc_fail_stop(void)
{
	alloc_countdown = 0;
	return alloc_hit;
}

/* Allocations so far: two calls with code between them show whether it allocates. */
static inline size_t alloc_count(void)
{
	return alloc_calls;
}

static inline bool alloc_refuse(void)
{
	alloc_calls++;
	if (!alloc_countdown || --alloc_countdown)
		return false;
	alloc_hit = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return alloc_refuse() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return alloc_refuse() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return alloc_refuse() ? NULL : __real_realloc(memory, size);
}

/*
 * Calls `attempt` with its 1st, 2nd, 3rd, ... allocation failing, until a run has fewer allocations
 * than that. Each failure must come out as -ENOMEM, the last run as 0. Returns how many allocations
 * were failed.
 */
static inline size_t alloc_fail_each(int (*attempt)(void *context), void *context)
{
	size_t n;

	for (n = 1;; n++) {
		int err;

		alloc_fail_at(n);
		err = attempt(context);
		if (!alloc_fail_stop()) {
			assert_int_equal(err, 0);
			return n - 1;
		}
		assert_int_equal(err, -ENOMEM);
	}
}

#endif
