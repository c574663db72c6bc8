/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * folded.h - stacks as lines of text, which flame graph programs read:
 *
 *   process;thread;function (in lib);...;function (in lib) 42
 */
#ifndef GECKOBPF_FORMAT_FOLDED_H
#define GECKOBPF_FORMAT_FOLDED_H

#include <stdbool.h>
#include <stdio.h>

struct stack_profile;

/*
 * Root first; the number is of samples or, `by_cpu`, of microseconds of CPU time, and never 0. Threads of one name, in
 * processes of one name, share their lines. 0, -ENOMEM, or the error of the stream as -errno.
 */
int folded_write(const struct stack_profile *profile, bool by_cpu, FILE *out);

#endif
