/* SPDX-License-Identifier: BSD-2-Clause */
/* large.h - memory in huge pages, for megabytes that are filled at once. */
#ifndef GECKOBPF_BASE_LARGE_H
#define GECKOBPF_BASE_LARGE_H

#include <stddef.h>

/*
 * malloc(3), but a block of a megabyte or more comes in huge pages where the kernel has them: a
 * fault for each small one would cost more than most of what is done with their bytes. What is
 * never touched costs nothing but the rest of a page. For realloc(3) and free(3); NULL: no memory.
 */
void *large_alloc(size_t bytes);

#endif
