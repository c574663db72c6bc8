/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h - words that look like commands and are none: each has a hint what does it, so that `geckobpf view FILE` starts
 * no editor, as root, of that name. A program of such a name is profiled with `geckobpf -- view`, or `geckobpf record view`.
 */
#ifndef GECKOBPF_CMD_WORDS_H
#define GECKOBPF_CMD_WORDS_H

#include <argp.h>

struct usage;

/* Says what does what the word asks for, or which command it is like, or how a program of that name is profiled. EINVAL. */
error_t words_reject(struct usage *usage, const char *word);

#endif
