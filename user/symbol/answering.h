/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answering.h - reads files, and answers what is asked about them. What was read is kept for the next question of the same
 * asker: see symbol_files.h. Runs in the process that parses, whose memory may all be lost with it.
 */
#ifndef GECKOBPF_SYMBOL_ANSWERING_H
#define GECKOBPF_SYMBOL_ANSWERING_H

#include <stddef.h>

struct answering;
struct name_question;

/* 0 or -ENOMEM. */
int answering_open(struct answering **out);
void answering_close(struct answering *answering);

/* *bytes: a name_answer.h, the caller's. 0; -ENOMEM; -E2BIG: it is too large. */
int answering_answer(struct answering *answering, const struct name_question *question,
		     char **bytes, size_t *size);

#endif
