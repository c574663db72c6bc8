/* SPDX-License-Identifier: BSD-2-Clause */
/* meta.h - what a profile says of itself. */
#ifndef GECKOBPF_FORMAT_META_H
#define GECKOBPF_FORMAT_META_H

#include <stdbool.h>

struct json;
struct process;
struct recording_facts;

/*
 * The value of the profile's "meta". `presymbolicated`: the front-end shall not look for symbols.
 */
void meta_write(struct json *json, const struct recording_facts *facts, bool presymbolicated);

/* The key "pausedRanges" with its value. */
void meta_write_pauses(struct json *json, const struct recording_facts *facts);

/* The value of the "meta" of an entry of processes[]. */
void meta_write_process(struct json *json, const struct recording_facts *facts,
			const struct process *process);

#endif
