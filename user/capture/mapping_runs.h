/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping_runs.h - which parts of the kernel's array of mappings (GB_MAX_MAPPINGS) are in use.
 *
 * A set of mappings lies in a run, 16 << size_class long. A run that was given back is used again a second later, when
 * no unwinder can still be reading it (and no child that was forked meanwhile still shares it).
 */
#ifndef GECKOBPF_CAPTURE_MAPPING_RUNS_H
#define GECKOBPF_CAPTURE_MAPPING_RUNS_H

#include <stddef.h>
#include <stdint.h>

#define MAPPING_RUN_CLASSES 13 /* 16, 32, ... 65536 mappings */

struct mapping_run {
	uint32_t first;
	uint32_t size_class;
	uint64_t freed_ns;
};

/* Zero-initialised is empty. */
struct mapping_runs {
	struct {
		struct mapping_run *items;
		size_t count, capacity;
	} free[MAPPING_RUN_CLASSES];
	uint32_t top; /* mappings below were given out */
};

void mapping_runs_close(struct mapping_runs *runs);

/*
 * A run for `count` mappings. 0, or -ENOSPC: too many of them, or the array is full. Of what was never used, a run of
 * more than 1024 gets half at most, so something is left for others.
 */
int mapping_runs_take(struct mapping_runs *runs, size_t count, uint64_t now_ns,
		      struct mapping_run *out);

/* Never fails: without memory to remember it, the run is lost, which is as good as full. */
void mapping_runs_give(struct mapping_runs *runs, const struct mapping_run *run, uint64_t now_ns);

#endif
