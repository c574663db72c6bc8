/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed.h - the front-end's own format, version 70: what it makes of any other that it reads.
 *
 *   { threads: [ ... ], libs: [ ... ], shared: { stackTable, frameTable, ..., stringArray }, meta: { ... }, logs }
 *
 * Against the Gecko format: stacks, frames and functions exist once for all threads, tables are columns, samples have
 * weights, and the profile says which threads to show first.
 *
 * The order is that in which things are known: a thread is written when its process has ended, what all threads share
 * when all have, and meta, which names the busiest, last. Rows wait as text in spools until then: memory grows with the
 * code that was met, not with samples.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_H
#define GECKOBPF_FORMAT_PROCESSED_H

struct output;
struct profile_input;
struct profile_sink;

/* A sink that writes to `output`, which the caller commits; both are borrowed. 0 or -ENOMEM. */
int processed_open(struct profile_sink **out, const struct profile_input *input,
		   struct output *output);

#endif
