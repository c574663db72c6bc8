/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merged_log.h - the facts of the profilingLogs of several recordings, as one log.
 *
 *   numbers   add up, unless a row of the table in merged_log.c says otherwise
 *   texts     are in it if all recordings have the same
 */
#ifndef GECKOBPF_RECORDING_MERGED_LOG_H
#define GECKOBPF_RECORDING_MERGED_LOG_H

#include <stddef.h>

struct fact_list;
struct recording_facts;

/* Adds what one recording says. 0 or -ENOMEM. */
int merged_log_add(struct fact_list *log, const struct recording_facts *facts);

/* When all were added: takes out what not all of these recordings, added or not, agree in though they have to. */
void merged_log_finish(struct fact_list *log, const struct recording_facts *const *all,
		       size_t count);

#endif
