/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep_rows.h - how many rows the sleeps of a profile have in a format whose rows have no weight.
 *
 * A row an interval, as long as these are not too many: what a thousand sleeping threads did for an hour are 3.6
 * billion rows. Beyond that one row stands for several intervals of long sleeps, the same number of them everywhere.
 * (Each sleep keeps the row at its begin, so short ones are not thinned.)
 */
#ifndef GECKOBPF_FORMAT_SLEEP_ROWS_H
#define GECKOBPF_FORMAT_SLEEP_ROWS_H

#include <stdint.h>

#define SLEEP_ROWS_MAX 2000000

struct profile_input;

/* *intervals: how many intervals of long sleeps a row stands for, so that these have `most` rows at most. 0 or -errno. */
int sleep_rows_plan(const struct profile_input *input, uint64_t most, uint64_t *intervals);

#endif
