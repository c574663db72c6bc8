/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_meta.h - what a profile says of itself. */
#ifndef GECKOBPF_FORMAT_GECKO_META_H
#define GECKOBPF_FORMAT_GECKO_META_H

#include <stdbool.h>

struct json;
struct process;
struct recording_facts;

/*
 * The value of the profile's "meta". `presymbolicated`: the front-end shall not look for symbols.
 */
void gecko_meta_write(struct json *json, const struct recording_facts *facts, bool presymbolicated);

/* The value of the "meta" of an entry of processes[]. */
void gecko_meta_write_process(struct json *json, const struct recording_facts *facts,
			      const struct process *process);

#endif
