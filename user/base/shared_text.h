/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_text.h - a text that has several owners: each drops it, the last one frees it. Any thread may do either. */
#ifndef GECKOBPF_BASE_SHARED_TEXT_H
#define GECKOBPF_BASE_SHARED_TEXT_H

#include <stddef.h>

/* A copy of `length` bytes of `text`, with a NUL behind them; the caller is its first owner. NULL: no memory. */
char *shared_text_new(const char *text, size_t length);

/* The same text, with one more owner. NULL stays NULL. */
char *shared_text_again(char *text);

/* One owner less. NULL is fine. */
void shared_text_drop(char *text);

/* What each owner has of the memory that it takes, so that their sum is at most what is taken. */
size_t shared_text_bytes(const char *text);

#endif
