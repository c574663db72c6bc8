/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_meta.h - "meta" in the Gecko format: what the profile says of itself, and of each process. */
#ifndef GECKOBPF_FORMAT_GECKO_META_H
#define GECKOBPF_FORMAT_GECKO_META_H

struct json;
struct process;
struct profile_input;
struct recording_facts;

/* The value of the profile's "meta". The front-end shall look for symbols if there were no symbol files. */
void gecko_meta_write(struct json *json, const struct profile_input *input);

/* The value of the "meta" of an entry of processes[]. */
void gecko_meta_write_process(struct json *json, const struct recording_facts *facts,
			      const struct process *process);

#endif
