/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.h - resource limits that are raised while the capability to do so is there, so that it can be given up, and
 * what they were, for programs that we start.
 */
#ifndef GECKOBPF_BASE_LIMITS_H
#define GECKOBPF_BASE_LIMITS_H

#include <stddef.h>
#include <sys/resource.h>

#define LIMITS_MAX 4

/* Zero-initialised: none was raised. */
struct limits {
	struct {
		int resource;
		struct rlimit before;
	} items[LIMITS_MAX];
	size_t count;
};

/*
 * Raises them: descriptors to the hard limit; memory that is locked, nice values and real-time priority to what a
 * recorder needs. What is not allowed stays as it is.
 */
void limits_raise(struct limits *limits);

/* As they were. */
void limits_restore(const struct limits *limits);

#endif
