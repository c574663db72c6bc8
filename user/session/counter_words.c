/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_words.c - see counter_words.h. */
#include "session/counter_words.h"

#include <stddef.h>

#include "geckobpf_abi.h"

#define BIT(counter) (1U << GB_COUNTER_##counter)

const struct counter_word counter_words[] = {
	{"memory", BIT(MEMORY)},
	{"faults", BIT(FAULTS_MINOR) | BIT(FAULTS_MAJOR)},
	{"switches", BIT(SWITCHES_VOLUNTARY) | BIT(SWITCHES_INVOLUNTARY)},
	{"disk", BIT(DISK_READ) | BIT(DISK_WRITTEN)},
	{"network", BIT(NETWORK_RECEIVED) | BIT(NETWORK_SENT)},
	{NULL, 0},
};
