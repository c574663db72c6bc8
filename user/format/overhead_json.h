/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * overhead_json.h - "profilerOverhead": what the recording itself cost, as the front-end's information panel shows it.
 *
 * Its words are those of Gecko's sampler. Here "thread" is the time that the kernel's side took for a sample, and "overhead"
 * that and the recorder's CPU time, a sample; in the least and the most expensive second, and in the mean. A sample is made
 * without a lock, and nothing is cleaned or counted in it: these are 0.
 */
#ifndef GECKOBPF_FORMAT_OVERHEAD_JSON_H
#define GECKOBPF_FORMAT_OVERHEAD_JSON_H

#include <stdbool.h>
#include <stdint.h>

struct json;
struct recording_facts;

/* Whether the recording says what it cost: those of earlier versions do not. */
bool overhead_json_known(const struct recording_facts *facts);

/* Members of an object that is open: "samples" as Gecko has them, and "statistics". */
void overhead_json_gecko(struct json *json, const struct recording_facts *facts);

/* The same as the front-end itself has them: "samples", "statistics", and whose they are. */
void overhead_json_processed(struct json *json, const struct recording_facts *facts,
			     const char *pid, uint32_t main_thread);

#endif
