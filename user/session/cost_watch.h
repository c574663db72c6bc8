/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost_watch.h - what the recording itself costs: the time in which samples are made, the recorder's CPU time and memory.
 *
 *   counters of the kernel's side ──every second──> what a sample took in it: the least, the most
 *   ── cost_watch_log ──> facts "cost_...", of which format/overhead_json.c makes what the front-end shows
 */
#ifndef GECKOBPF_SESSION_COST_WATCH_H
#define GECKOBPF_SESSION_COST_WATCH_H

#include <stdint.h>

struct counters;
struct fact_list;

/* Zero-initialised is before the recording. */
struct cost_watch {
	uint64_t cpu_before_ns; /* the recorder's CPU time when the recording began */
	uint64_t looked_ns, samples, samples_ns; /* when it was looked last, and what there was */
	uint64_t least_ns, most_ns; /* of a sample, in the mean of a second; 0: not known */
};

void cost_watch_begin(struct cost_watch *watch, uint64_t now_ns);

/* What is counted until `now_ns`. Cheap, and does nothing most of the time. */
void cost_watch_look(struct cost_watch *watch, const struct counters *counters, uint64_t now_ns);

/* Adds what it comes to so far. */
void cost_watch_log(const struct cost_watch *watch, const struct counters *counters,
		    struct fact_list *log);

#endif
