/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * filter.h - the part of recordings that a profile is made of: of some processes, of some threads, of some time.
 *
 * A zero-initialised filter leaves nothing out.
 */
#ifndef GECKOBPF_PROFILE_FILTER_H
#define GECKOBPF_PROFILE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct process;
struct thread;

struct profile_filter {
	/* Samples at from_ns <= time of the profile < to_ns; to_ns 0: to the end. */
	uint64_t from_ns, to_ns;
	/* A process id ("42", or "42.1" of a later image), or a pattern of names (fnmatch(3)); NULL: all. */
	const char *process;
	const char *thread; /* a thread id, or a pattern of names; NULL: all */
	bool each_process; /* is shown by itself: none are gathered (gather.h); leaves nothing out */
};

/* Whether nothing is left out. */
bool profile_filter_is_empty(const struct profile_filter *filter);

bool profile_filter_process(const struct profile_filter *filter, const struct process *process);
bool profile_filter_thread(const struct profile_filter *filter, const struct thread *thread);
bool profile_filter_time(const struct profile_filter *filter, uint64_t time_ns);

/* What is wanted of a profile that ends at `end_ns`: from *from_ns to *to_ns. */
void profile_filter_span(const struct profile_filter *filter, uint64_t end_ns, uint64_t *from_ns,
			 uint64_t *to_ns);

#endif
