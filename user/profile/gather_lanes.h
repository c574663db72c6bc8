/* SPDX-License-Identifier: BSD-2-Clause */
/* gather_lanes.h - threads that stand for those of several processes, one after the other: see gather.h. */
#ifndef GECKOBPF_PROFILE_GATHER_LANES_H
#define GECKOBPF_PROFILE_GATHER_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/process.h"

/* Threads that are found by name, at most; the last few are for processes of any name. */
#define GATHER_LANES 48
#define GATHER_LANES_OF_ANY 16
#define GATHER_NAME_BYTES 48

/* Of no thread. */
#define GATHER_NO_LANE UINT32_MAX

struct gather_lane {
	struct thread thread; /* what it is shown as */
	char name[GATHER_NAME_BYTES]; /* the same */
	char of[THREAD_NAME_BYTES]; /* the processes' name; "": any */
	uint64_t until_ns; /* it is taken */
	uint32_t unit_count; /* processes */
};

/* Zero-initialised is closed. */
struct gather_lanes {
	struct gather_lane *items;
	size_t count;
};

/* Who wants lanes for how long. */
struct gather_stay {
	const char *name; /* not empty */
	uint64_t born_ns, until_ns;
};

/* With room for so many. 0 or -ENOMEM. */
int gather_lanes_open(struct gather_lanes *lanes, size_t capacity);
void gather_lanes_close(struct gather_lanes *lanes);

/* The number of one more, for which there is room. */
uint32_t gather_lanes_add(struct gather_lanes *lanes, const char *name, uint32_t tid);
/*
 * `count` lanes of that name, which nobody has then, or of any if there are too many; made if need be. Of who comes
 * later, none was born before. Whether there are so many; if not, none is taken.
 */
bool gather_lanes_take(struct gather_lanes *lanes, const struct gather_stay *stay,
		       uint32_t *numbers, size_t count);
/* They are called as the processes are, with how many there were. */
void gather_lanes_name(struct gather_lanes *lanes);
/* They are threads of that process. */
void gather_lanes_own(struct gather_lanes *lanes, struct process *process);

#endif
