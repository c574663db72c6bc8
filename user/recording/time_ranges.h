/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_ranges.h - stretches of time in order, none of which touches another: when a recording was paused, for instance.
 */
#ifndef GECKOBPF_RECORDING_TIME_RANGES_H
#define GECKOBPF_RECORDING_TIME_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* Zero-initialised is empty; `items` is the caller's to free. */
struct time_ranges {
	struct time_range *items;
	size_t count, capacity;
};

/* From where the last one ends, or later; what ends before it starts, or then, is none. 0 or -ENOMEM. */
int time_ranges_add(struct time_ranges *ranges, uint64_t start_ns, uint64_t end_ns);

/* Puts into `out`, which is empty, what is in both. 0 or -ENOMEM. */
int time_ranges_intersect(const struct time_ranges *a, const struct time_ranges *b,
			  struct time_ranges *out);

#endif
