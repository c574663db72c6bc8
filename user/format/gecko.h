/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko.h - the Gecko format, version 36: JSON as Firefox's own profiler writes it.
 *
 *   { meta, libs: [], threads: [], ..., processes: [ one a program image ], profilingLog, profileGatheringLog }
 *
 * Rows wait as text in spools until their process has ended; memory does not grow with the size of the JSON.
 */
#ifndef GECKOBPF_FORMAT_GECKO_H
#define GECKOBPF_FORMAT_GECKO_H

struct output;
struct profile_input;
struct profile_sink;

/* A sink that writes to `output`, which the caller commits; both are borrowed. 0 or -ENOMEM. */
int gecko_open(struct profile_sink **out, const struct profile_input *input, struct output *output);

#endif
