/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss_watch.h - looks at the counters of losses again and again while it is recorded: what they rose by was lost since
 * the last time.
 *
 *   counters (counters.h) ──every LOSS_WATCH_NS, and whenever they go into a file──> struct losses
 *
 * So the losses of a recording add up to its counters.
 */
#ifndef GECKOBPF_SESSION_LOSS_WATCH_H
#define GECKOBPF_SESSION_LOSS_WATCH_H

#include <stdint.h>

#include "base/clock.h"
#include "recording/losses.h"

struct counters;

#define LOSS_WATCH_NS (100 * NS_PER_MS)

/* Zero-initialised is before the first look. */
struct loss_watch {
	uint64_t seen[LOSS_CAUSE_COUNT];
	uint64_t looked_ns; /* when it was looked last, or the recording began */
	struct losses all;
	struct losses unwritten; /* those that the stream does not have */
};

/* What is counted until `now_ns`. */
void loss_watch_look(struct loss_watch *watch, const struct counters *counters, uint64_t now_ns);

#endif
