/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counter.h - counters: how much of something a process had at a time, beside its threads.
 *
 *   kind (a row of counter_table) ──> its name, its category, by which the front-end draws it, what it says
 *   process_walk ──> counters_take(), value by value ──> points: time and change ──> sink.h
 *
 * Of what a process has (memory) the first point is 0, so that what they add up to is what there was; what was counted before
 * the part that is wanted is what that part begins with. Of what adds up (page faults) all points are what came since the
 * point before, and the first one says only when that begins. The last one is where the process or the profile ends. Between
 * two points front-ends draw a slope, so where nothing changed for long, there is a point of no change before the next change.
 */
#ifndef GECKOBPF_PROFILE_COUNTER_H
#define GECKOBPF_PROFILE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/profile_buffer.h"
#include "geckobpf_abi.h"

struct profile_process;
struct profile_sink;

/* A line of what is said of a point, in the front-end's words; but for `label` they are from its sources. */
struct counter_row {
	const char *source, *unit, *label;
};

#define COUNTER_ROWS 2

struct counter_kind {
	const char *name;
	/* By its category the front-end knows how a counter is drawn; where it does not, by the rest. */
	const char *category, *description;
	const char *label, *unit, *color, *graph; /* of its track */
	uint32_t sort_weight; /* where it is among the tracks of a process */
	struct counter_row rows[COUNTER_ROWS];
};

/* By enum gb_counter. */
extern const struct counter_kind counter_table[GB_COUNTER_COUNT];

/* Times are those of the profile, and never fall. */
struct profile_point {
	uint32_t counter;
	uint64_t time_ns;
	int64_t change; /* since the point before */
};

#define COUNTERS_WAITING 64

/* Of a process, while its points are sent. Zero-initialised: nothing is known. */
struct counters {
	/* Until the sink knows the process: those that come first, and the latest. */
	struct counter_entry waiting[COUNTERS_WAITING];
	size_t waiting_count;
	struct {
		bool is_known, is_begun; /* there is a value; the sink has a point of it */
		int64_t value, told; /* the latest one, and what the sink was told last */
		uint64_t value_ns, told_ns;
	} of[GB_COUNTER_COUNT];
};

/*
 * What was recorded of the process, in about the order of time; what comes late says nothing. `sink` NULL: it does not know
 * the process so far. 0 or the sink's error.
 */
int counters_take(struct counters *counters, const struct profile_process *process,
		  struct profile_sink *sink, const struct counter_entry *entry);
/* Now the sink knows it. The same. */
int counters_begin(struct counters *counters, const struct profile_process *process,
		   struct profile_sink *sink);
/* That was all. The same. */
int counters_end(struct counters *counters, const struct profile_process *process,
		 struct profile_sink *sink);

#endif
