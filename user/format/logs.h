/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * logs.h - "profilingLog" and "profileGatheringLog": what was recorded how, and what was lost; how long the making of
 * the profile took.
 */
#ifndef GECKOBPF_FORMAT_LOGS_H
#define GECKOBPF_FORMAT_LOGS_H

#include <stdbool.h>
#include <stdint.h>

struct json;
struct process;
struct profile_input;
struct profile_summary;

/* Members of "profilingLog", whose object is open: one of the whole, one of each recording that it was made of. */
void logs_write_whole(struct json *json, const struct profile_input *input,
		      const struct profile_summary *summary, uint64_t spilled_bytes);

/* Whether samples of the process were overwritten, or cannot be read. Then there is a member for it. */
bool logs_has_process(const struct process *process);
void logs_write_process(struct json *json, const struct process *process);

/*
 * The key "profileGatheringLog" with its value: how this profile was made, up to here; all but this text and the logs
 * has gone through the compression. Writes nothing if the input has no stages.
 */
void logs_write_stages(struct json *json, const struct profile_input *input);

#endif
