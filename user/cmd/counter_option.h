/* SPDX-License-Identifier: BSD-2-Clause */
/* counter_option.h - the value of --counters: which counters of processes are recorded. */
#ifndef GECKOBPF_CMD_COUNTER_OPTION_H
#define GECKOBPF_CMD_COUNTER_OPTION_H

#include <argp.h>
#include <stdint.h>

struct usage;

/* "memory", "faults", names with commas or blanks between them, "all", "none": a bit for each enum gb_counter. 0 or EINVAL. */
error_t counter_option_parse(struct usage *usage, const char *text, uint32_t *out);

#endif
