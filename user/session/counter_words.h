/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_words.h - the words for what is counted of processes: in options, and where a profile says its options. */
#ifndef GECKOBPF_SESSION_COUNTER_WORDS_H
#define GECKOBPF_SESSION_COUNTER_WORDS_H

#include <stdint.h>

struct counter_word {
	const char *name;
	uint32_t counters; /* a bit for each enum gb_counter */
};

/* Ends with NULL. */
extern const struct counter_word counter_words[];

#endif
