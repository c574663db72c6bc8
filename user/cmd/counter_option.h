/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_option.h - the value of --counters: which counters of processes are recorded. */
#ifndef GECKOBPF_CMD_COUNTER_OPTION_H
#define GECKOBPF_CMD_COUNTER_OPTION_H

#include <argp.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct usage;

#define COUNTERS_DISK (1U << GB_COUNTER_DISK_READ | 1U << GB_COUNTER_DISK_WRITTEN)
#define COUNTERS_NETWORK (1U << GB_COUNTER_NETWORK_RECEIVED | 1U << GB_COUNTER_NETWORK_SENT)
#define COUNTERS_DEFAULT (1U << GB_COUNTER_MEMORY | COUNTERS_DISK | COUNTERS_NETWORK)

/* "memory", "faults", names with commas or blanks between them, "all", "none": a bit for each enum gb_counter. 0 or EINVAL. */
error_t counter_option_parse(struct usage *usage, const char *text, uint32_t *out);

#endif
