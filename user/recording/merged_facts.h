/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merged_facts.h - what several recordings say of themselves, as one.
 *
 *   time      from the earliest start to the latest end; paused is when none of them took samples
 *   losses    of all of them, in one list
 *   log       as in merged_log.h. Raw captures of one recording count on, so the latest of them speaks for all,
 *             of its losses, too
 *   texts     the title names all; what they do not agree in is left out here, and is in the part of each in the log
 *
 * All times are in the clock of the first one.
 */
#ifndef GECKOBPF_RECORDING_MERGED_FACTS_H
#define GECKOBPF_RECORDING_MERGED_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

struct merged_facts;

/* 0 or -ENOMEM. */
int merged_facts_open(struct merged_facts **out);
void merged_facts_close(struct merged_facts *merged);

/*
 * Adds a recording, the earliest first; `facts` and `name` are copied. `later_ns` added to its times makes them those
 * of the first one's clock (modulo 2^64; those that would be before 0 become 0). 0 or -ENOMEM.
 */
int merged_facts_add(struct merged_facts *merged, const struct recording_facts *facts,
		     const char *name, uint64_t later_ns);

/* Of one recording: as it was added. Lives until the next call, or close. 0 or -ENOMEM. */
int merged_facts_get(struct merged_facts *merged, const struct recording_facts **out);

/* The recordings that were added, in that order; what they are called and say for themselves. */
size_t merged_facts_count(const struct merged_facts *merged);
struct recording_part merged_facts_part(const struct merged_facts *merged, size_t index);

/* Whether both have one clock: they are of one boot, or, where that is not known, raw captures of one recording. */
bool merged_facts_same_clock(const struct recording_facts *a, const struct recording_facts *b);

#endif
