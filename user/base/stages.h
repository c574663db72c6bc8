/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stages.h - what the time of one piece of work went into, and how much memory it had by then.
 *
 *   enter "a"      enter "b"     enter "a"    end
 *      |------ a ------|----- b -----|--- a ---|        a: twice, b: once; their times add up to the whole
 *
 * Times are CLOCK_MONOTONIC. Memory is that of the process as a stage was last left, as of at most
 * a millisecond before. NULL is fine everywhere: nothing is noted.
 */
#ifndef GECKOBPF_BASE_STAGES_H
#define GECKOBPF_BASE_STAGES_H

#include <stddef.h>
#include <stdint.h>

#define STAGES_MAX 8

struct stage {
	const char *name; /* borrowed */
	uint64_t duration_ns;
	uint64_t rss_bytes, peak_bytes; /* resident now, and at most so far; 0: not known */
};

/* Begins as zeroes. */
struct stages {
	struct stage items[STAGES_MAX]; /* in the order of their beginnings */
	size_t count;
	struct stage *current; /* NULL: none */
	uint64_t since_ns; /* the current one's beginning */
	/* when the memory was last read, and what it was */
	uint64_t memory_ns, rss_bytes, peak_bytes;
	uint64_t (*now_ns)(void); /* for tests; NULL: the clock */
};

/*
 * Leaves the stage that is on, if any, and enters `name`. Returns the one that was left, or NULL. A
 * stage too many is none.
 */
const char *stages_enter(struct stages *stages, const char *name);

/* Leaves the stage that is on. */
void stages_end(struct stages *stages);

#endif
