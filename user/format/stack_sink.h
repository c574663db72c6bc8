/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stack_sink.h - a recording becomes part of a stack profile: which stacks had how many samples and how much CPU time.
 *
 * What is kept of a thread until its process ends is its stacks and their sums, no rows.
 */
#ifndef GECKOBPF_FORMAT_STACK_SINK_H
#define GECKOBPF_FORMAT_STACK_SINK_H

struct profile_input;
struct profile_sink;
struct profile_summary;
struct stack_profile;
struct stack_source;

/* Adds what the whole of `input` says of its losses. */
void stack_sink_add_losses(struct stack_source *source, const struct profile_input *input,
			   const struct profile_summary *summary);

/*
 * A sink that adds the recording as another source, called `path`. `profile` and `input` are borrowed. If the walk
 * fails, the profile is good for nothing but closing. 0 or -ENOMEM.
 */
int stack_sink_open(struct profile_sink **out, const struct profile_input *input, const char *path,
		    struct stack_profile *profile);

#endif
