/* SPDX-License-Identifier: BSD-2-Clause */
/* stored.h - what a reader of a profile buffer learns of where frames are on the stack. */
#ifndef GECKOBPF_TESTS_STORED_H
#define GECKOBPF_TESTS_STORED_H

#include <stddef.h>
#include <stdint.h>

struct gb_sample;

int stored_open(void);
void stored_close(void);

/*
 * The RSP in each frame of user code of a sample that was made an entry and read back, leaf first; 0: not known. Returns their number,
 * at most `max`; -1: something failed.
 */
int stored_stack(const struct gb_sample *sample, uint64_t *sps, size_t max);

#endif
