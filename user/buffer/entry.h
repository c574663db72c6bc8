/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry.h - the grammar of what is in a profile buffer: payload of a block <-> entry.
 *
 * Numbers are ULEB128; "zigzag" ones are differences, modulo 2^64, zigzag-coded.
 *
 *   entry:   kind | restart, if RESTART | what the kind says
 *
 *   kind:    bit 7       bit 6..1                              bit 0
 *            1: sample   which fields follow, see below        RESTART
 *            0           1: a sample with more                 RESTART
 *                        2: a counter                          RESTART
 *                        3..63: other kinds, none so far
 *
 *   restart: 0 | version | period_ns
 *
 * RESTART begins an epoch: nothing is known any more; "before" in what follows means before in the
 * same epoch. The first entry that begins in a chunk restarts, so that a chunk can be read when all
 * older ones are gone. The version is that of the epoch's grammar: 3. Version 2 had no such number,
 * its restart was `period_ns`, which is never 0. Epochs of both may be in one buffer.
 *
 *   a sample with more:
 *     fields               1 byte; bits that have no meaning are 0
 *     bit 0  EVENT        | event                    else: 0, the timer
 *     bit 1  WEIGHT       | zigzag weight            else: 1
 *     bit 2  STACK_BASE   | zigzag stack_base - the one told before, of any thread
 *                                                    else: the thread's before
 *     bit 3  FAR_SP       | zigzag far_sp, likewise
 *     bit 4  SLEPT        | slept_ns in us           else: 0
 *     a sample, from its kind on, without RESTART
 *
 *   sample:
 *     bit 1  THREAD       | thread << 1 | e          else: that of the sample before, e is 0
 *            if e         | user_end, 1 byte         else: the thread's before
 *     bit 2  PERIODS      | zigzag k                 else: k is 1
 *                         | zigzag time_ns - (the thread's time_ns before + k * period_ns)
 *     bit 3  RAN_ON                                  it waited no longer than before
 *            else         | CPU time, us, since its sample before
 *     bit 6  RUN          | run_ns in us, not 0      else: run_ns is 0
 *     bit 5, 4: the base
 *            0                                       the thread's stack before
 *            1            | n                        n frames up from that of the sample before
 *            2            | n                        node n
 *            3            | n                        the node that n nodes were told after
 *     up to the end:      | new frames               the base is their caller; none: is the stack
 *
 *   a counter, of the process:
 *     its number, below 16
 *     zigzag time_ns - that of the sample before, of any thread; 0 if there was none
 *     zigzag value - the one that this counter was told to have before; 0 at first
 *
 * What a thread waited is time_ns - cpu_ns, in us, rounded up. It grows by the time since the
 * sample before, in us, rounded up, less the CPU time since then. A thread that was not met before
 * has the time of the sample before, whichever thread's, as its time before, has waited all of
 * that, and has user_end 0; for the first sample of an epoch that time is 0.
 *
 * A stack is the number of its leaf's node in a tree of (prefix node, frame); at first a thread's
 * is "none". New frames become nodes 0, 1, 2, ... of the epoch, each called by the one before it
 * and the first of them by the base; the last is the stack. A frame (frame.h) is told once by
 * what it is, later by its number:
 *
 *   new frames:
 *     r << 1                                   r frames (not 0), each the one that last came after
 *                                              the one before it among new frames of one entry
 *     (3 + n) << 1 | 1                         frame n
 *     0 << 1 | 1   | change | stack_words      user code
 *     1 << 1 | 1   | change                    kernel code
 *     2 << 1 | 1   | kind | change             another kind of frame, 2 to 15
 *
 *   change: zigzag value - the value of the last frame of its kind that was told so, or 0
 *
 * Of user code that is told as another kind (interrupted, returned to by signal handlers), the value
 * has the address in its low 48 bits, and stack_words above.
 *
 * In version 2, no frame had stack_words, frame n was (2 + n) << 1 | 1, there were no samples
 * with more, and why a stack was cut was said by its root: a user frame whose value was an enum
 * gb_stack_end.
 *
 * 1 ms later, still running, a stack that is 2 frames up from the last one and 1 frame down:
 *
 *   98 | 8E 01 | 02 | 17         kind RAN_ON, base 1 | 71 ns more than a period | 2 up | frame 8
 */
#ifndef GECKOBPF_BUFFER_ENTRY_H
#define GECKOBPF_BUFFER_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/leb128.h"
#include "buffer/profile_buffer.h"

enum entry_kind {
	ENTRY_RESTART = 1 << 0,
	SAMPLE_THREAD = 1 << 1,
	SAMPLE_PERIODS = 1 << 2,
	SAMPLE_RAN_ON = 1 << 3,
	SAMPLE_BASE = 3 << 4, /* one of the four below */
	SAMPLE_BASE_SAME = 0 << 4,
	SAMPLE_BASE_UP = 1 << 4,
	SAMPLE_BASE_NODE = 2 << 4,
	SAMPLE_BASE_BACK = 3 << 4,
	SAMPLE_RUN = 1 << 6,
	ENTRY_SAMPLE = 1 << 7,
};

#define ENTRY_VERSION 3

/* Entries that are no mere samples: bit 6..1 of the kind. */
enum entry_number { ENTRY_MORE_SAMPLE = 1, ENTRY_COUNTER = 2, ENTRY_NUMBERS = 64 };

/* Fields of a sample with more. */
enum sample_more {
	MORE_EVENT = 1 << 0,
	MORE_WEIGHT = 1 << 1,
	MORE_STACK_BASE = 1 << 2,
	MORE_FAR_SP = 1 << 3,
	MORE_SLEPT = 1 << 4,
	MORE_ALL = (1 << 5) - 1,
};

/* The first two are kinds of frames as well. */
enum frame_token {
	FRAME_NEW_USER = 0,
	FRAME_NEW_KERNEL = 1,
	FRAME_NEW_OTHER = 2,
	FRAME_NUMBER = 3, /* this one and all above */
};

/* By the first byte of an entry. */
static inline bool entry_is_sample(uint8_t kind)
{
	return kind & ENTRY_SAMPLE || kind >> 1 == ENTRY_MORE_SAMPLE;
}

/* Of an epoch, at most. */
#define ENTRY_MAX_NODES (1U << 30)

/* What comes before a sample, at most: a kind, a restart, fields of a sample with more. */
#define ENTRY_HEAD_BYTES                                                                           \
	(1 + 2 + LEB128_MAX_BYTES_U64 + 1 + LEB128_MAX_BYTES_U32 + 4 * LEB128_MAX_BYTES_U64)

/*
 * Of an entry, at most. A new frame is told by a token, a kind or stack_words, and a value, and
 * before it there may be a run.
 */
#define ENTRY_FRAME_BYTES (1 + 3 + LEB128_MAX_BYTES_U64 + 2)
#define ENTRY_MAX_BYTES                                                                            \
	(ENTRY_HEAD_BYTES + 2 + 2 * LEB128_MAX_BYTES_U32 + 5 * LEB128_MAX_BYTES_U64 +              \
	 SAMPLE_MAX_FRAMES * ENTRY_FRAME_BYTES)

struct entry_cache;
struct entry_encoder;
struct entry_decoder;

/* `cache` is borrowed; `period_ns` is not 0. 0 or -ENOMEM. */
int entry_encoder_open(struct entry_encoder **out, struct entry_cache *cache, uint64_t period_ns);
void entry_encoder_close(struct entry_encoder *encoder);

/*
 * The bytes of `sample`, valid until any encoder of the cache is next used. `restart` when the
 * entry will be the first in a chunk; the encoder restarts by itself at the very first one and
 * after a failure. 0; -E2BIG: more than SAMPLE_MAX_FRAMES; -ENOMEM. Does not allocate once its
 * tables are large enough.
 */
int entry_encode_sample(struct entry_encoder *encoder, const struct sample_entry *sample,
			bool restart, const uint8_t **bytes, size_t *size);

/* The same of a counter's value; -EINVAL: there is no such counter. */
int entry_encode_counter(struct entry_encoder *encoder, const struct counter_entry *entry,
			 bool restart, const uint8_t **bytes, size_t *size);

/* What was encoded last was not stored: readers will not see it, so the next entry restarts. */
void entry_encoder_drop(struct entry_encoder *encoder);

/* 0 or -ENOMEM. */
int entry_decoder_open(struct entry_decoder **out);
void entry_decoder_close(struct entry_decoder *decoder);

/* Entries are missing: until one restarts, none is understood. */
void entry_decoder_forget(struct entry_decoder *decoder);

/*
 * Tells the visitor what one payload says. Entries come in the order in which they were encoded,
 * beginning with one that restarts. 0; -EBADMSG: the bytes make no sense, or depend on what made
 * none before; -ENOMEM; what the visitor returned. What was understood of an entry whose sample the
 * visitor does not take still counts; after any other failure the decoder forgets.
 */
int entry_decode(struct entry_decoder *decoder, const uint8_t *bytes, size_t size,
		 const struct profile_visitor *visitor, void *context);

#endif
