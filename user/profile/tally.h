/* SPDX-License-Identifier: BSD-2-Clause */
/* tally.h - self samples by function over all threads, for the summary. */
#ifndef GECKOBPF_PROFILE_TALLY_H
#define GECKOBPF_PROFILE_TALLY_H

#include <stddef.h>
#include <stdint.h>

struct profile_function;
struct profile_hot;
struct tally;

/* 0 or -ENOMEM. */
int tally_open(struct tally **out);
void tally_close(struct tally *tally);

/* 0 or -ENOMEM. */
int tally_add(struct tally *tally, const struct profile_function *function, uint64_t samples);

/*
 * The at most *count functions with the most samples, most first, equal ones by name; *count
 * becomes how many; for tally_free_top(), NULL when there are none. 0 or -ENOMEM.
 */
int tally_top(const struct tally *tally, struct profile_hot **out, size_t *count);
void tally_free_top(struct profile_hot *top, size_t count);

#endif
