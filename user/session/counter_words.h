/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_words.h - the words for what is counted of processes: in options, and where a profile says its options. */
#ifndef GECKOBPF_SESSION_COUNTER_WORDS_H
#define GECKOBPF_SESSION_COUNTER_WORDS_H

#include <stdint.h>

#include "geckobpf_abi.h"

struct counter_word {
	const char *name;
	uint32_t counters; /* a bit for each enum gb_counter */
};

#define COUNTERS_MEMORY (1U << GB_COUNTER_MEMORY)
#define COUNTERS_FAULTS (1U << GB_COUNTER_FAULTS_MINOR | 1U << GB_COUNTER_FAULTS_MAJOR)
#define COUNTERS_SWITCHES                                                                          \
	(1U << GB_COUNTER_SWITCHES_VOLUNTARY | 1U << GB_COUNTER_SWITCHES_INVOLUNTARY)
#define COUNTERS_DISK (1U << GB_COUNTER_DISK_READ | 1U << GB_COUNTER_DISK_WRITTEN)
#define COUNTERS_NETWORK (1U << GB_COUNTER_NETWORK_RECEIVED | 1U << GB_COUNTER_NETWORK_SENT)
#define COUNTERS_DEFAULT (COUNTERS_MEMORY | COUNTERS_DISK | COUNTERS_NETWORK)

/* Ends with NULL. */
extern const struct counter_word counter_words[];

#endif
