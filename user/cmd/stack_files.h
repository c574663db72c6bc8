/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_files.h - the files that a command is given, Gecko profiles and raw captures, as one stack profile. */
#ifndef GECKOBPF_CMD_STACK_FILES_H
#define GECKOBPF_CMD_STACK_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct raw_profile_options;
struct stack_profile;

/*
 * Raw captures are one source, read with `options`: what several of them have of the same time counts once. 0, or
 * -errno of the first file that cannot be loaded, which has been logged.
 */
int stack_files_load(struct stack_profile **out, const char *const *paths, size_t count,
		     const struct raw_profile_options *options);

/* Whether anything was lost of what the profile was made of. */
bool stack_files_have_losses(const struct stack_profile *profile);

#endif
