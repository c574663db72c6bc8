/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * setting_facts.h - how the recording was made, for the profilingLog: options, kernel, and what had to be done without.
 */
#ifndef GECKOBPF_SESSION_SETTING_FACTS_H
#define GECKOBPF_SESSION_SETTING_FACTS_H

struct fact_list;
struct session;

/* Adds them to the log. `symbols_error`: why kernel frames have no names, -errno; 0: they have, or need none. */
void setting_facts_add(const struct session *session, int symbols_error, struct fact_list *log);

#endif
