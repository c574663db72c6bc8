/* SPDX-License-Identifier: BSD-2-Clause */
/* busiest.h - the threads that used the most CPU time: they are shown first. */
#ifndef GECKOBPF_FORMAT_BUSIEST_H
#define GECKOBPF_FORMAT_BUSIEST_H

#include <stddef.h>
#include <stdint.h>

/* As many as the front-end shows by itself. */
#define BUSIEST_MAX 15

struct busy_thread {
	uint64_t cpu_ns;
	uint32_t index; /* of the thread, in the profile */
};

/* Zero-initialised is empty. The busiest comes first, of equals the one that was added first. */
struct busiest {
	struct busy_thread items[BUSIEST_MAX];
	size_t count;
};

/* A thread that used none does not count. */
void busiest_add(struct busiest *busiest, uint32_t index, uint64_t cpu_ns);

#endif
