/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_words.c - see counter_words.h. */
#include "session/counter_words.h"

#include <stddef.h>

const struct counter_word counter_words[] = {
	{"memory", COUNTERS_MEMORY}, {"faults", COUNTERS_FAULTS},   {"switches", COUNTERS_SWITCHES},
	{"disk", COUNTERS_DISK},     {"network", COUNTERS_NETWORK}, {NULL, 0},
};
