/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.h - the CPU for the thread that records, before those that it records.
 *
 * A recorder that has to wait for a busy machine loses samples. It uses a few percent of a CPU at most, so nobody misses
 * what it takes: real-time scheduling at the lowest priority, or where that is not allowed, the best nice value.
 * Processes and threads that are made meanwhile have the usual priority.
 */
#ifndef GECKOBPF_CMD_PRIORITY_H
#define GECKOBPF_CMD_PRIORITY_H

/* What the calling thread had before. Zero-initialised: it was not raised. */
struct priority {
	const char *now; /* its name, as "SCHED_RR 1"; NULL: it was not raised */
	int error; /* why not, -errno */
	int policy, nice;
};

void priority_raise(struct priority *priority);
/* What it was before; once is enough. */
void priority_lower(struct priority *priority);

#endif
