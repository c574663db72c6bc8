/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.h - the CPU for the thread that records, before those that it records.
 *
 * A recorder that has to wait for a busy machine loses samples. It uses a few percent of a CPU at most, so nobody misses
 * what it takes: real-time scheduling at the lowest priority but one, or where that is not allowed, the best nice value.
 * Processes and threads that are made meanwhile have the usual priority.
 *
 * To save takes a whole CPU for a while, which real-time scheduling would keep from all others; but among others it would
 * take for ever, and the memory that it has with it. So it has the best nice value, as have the threads it is helped by.
 */
#ifndef GECKOBPF_CMD_PRIORITY_H
#define GECKOBPF_CMD_PRIORITY_H

#include <stdbool.h>

/* Of the calling thread. Zero-initialised: it was not raised. */
struct priority {
	/* Its name, as "SCHED_RR 2"; NULL: it goes before nobody. One that is behind others, as it was given, stays there. */
	const char *now;
	bool is_ours; /* it was raised here */
	int error; /* why not, -errno */
};

void priority_raise(struct priority *priority);
/* The recording is over: from now on it is saved, and what was recorded is waited for. */
void priority_ease(const struct priority *priority);

#endif
