/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.h - the grammar of what is in a profile buffer: payload of a block <-> entry.
 *
 * The first byte says what follows. Numbers are ULEB128; "zigzag" ones are differences to an
 * earlier value, modulo 2^64, zigzag-coded.
 *
 *   bit 7       bit 6..1                              bit 0
 *   1: sample   which fields follow, see below        RESTART
 *   0           1..63: other kinds, none so far       RESTART
 *
 * RESTART begins an epoch: nothing is known any more, neither nodes nor values; "before" in what
 * follows means before in the same epoch, and values that were not seen before are 0. The first
 * entry that begins in a chunk restarts, so that a chunk can be read when all older ones are gone.
 *
 *   sample:
 *     bit 1  THREAD       | thread                                  else: that of the sample before
 *                         | zigzag time_ns - time_ns of the sample before
 *                         | zigzag cpu_ns - the thread's cpu_ns before
 *     bit 5  RUN_MOVED    | zigzag (time_ns - run_ns) - the thread's value of that before
 *     bit 6  RUN_GOES_ON                                            that difference is 0
 *                                                                   neither: run_ns is 0
 *     bit 4  USER_END     | user_end, 1 byte                        else: the thread's before
 *     bit 2  SAME_STACK                                             the thread's stack before
 *                           else:
 *                         | base + 1, or 0 for no base
 *     bit 3  NEW_FRAMES   | user count | kernel count | zigzag pc ...    else: the base is it
 *
 * A stack is the number of its leaf's node in a tree of (prefix node, pc, kernel?); at first a
 * thread's is "none". New frames become nodes 0, 1, 2, ... of the epoch, each called by the one
 * before it and the first of them by the base; the last is the stack. User frames come first. A pc
 * is told by its difference to the pc that was told before it, of a user frame or of a kernel frame
 * respectively.
 *
 *   same stack, 1 ms later, still running:     C4 | time, 3 bytes | cpu, 3 bytes
 */
#ifndef GECKOBPF_BUFFER_ENTRY_H
#define GECKOBPF_BUFFER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/profile_buffer.h"

struct entry_encoder;
struct entry_decoder;

/* 0 or -ENOMEM. */
int entry_encoder_open(struct entry_encoder **out);
void entry_encoder_close(struct entry_encoder *encoder);

/*
 * The bytes of `sample`, the encoder's until it is next used. `restart` when the entry will be the
 * first in a chunk; the encoder restarts by itself at the very first one and after a failure. 0;
 * -E2BIG: more frames than can be numbered; -ENOMEM. Does not allocate once its tables are large
 * enough.
 */
int entry_encode_sample(struct entry_encoder *encoder, const struct sample_entry *sample,
			bool restart, const uint8_t **bytes, size_t *size);

/* What was encoded last was not stored: readers will not see it, so the next entry restarts. */
void entry_encoder_drop(struct entry_encoder *encoder);

/* 0 or -ENOMEM. */
int entry_decoder_open(struct entry_decoder **out);
void entry_decoder_close(struct entry_decoder *decoder);

/*
 * Tells the visitor what one payload says. Entries come in the order in which they were encoded,
 * beginning with one that restarts. 0; -EBADMSG: the bytes make no sense, after which decoding
 * cannot go on; -ENOMEM; what the visitor returned.
 */
int entry_decode(struct entry_decoder *decoder, const uint8_t *bytes, size_t size,
		 const struct profile_visitor *visitor, void *context);

#endif
