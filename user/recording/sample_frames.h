/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.h - the words of a sample as the kernel sends it, and its frames as the buffer wants them. */
#ifndef GECKOBPF_RECORDING_SAMPLE_FRAMES_H
#define GECKOBPF_RECORDING_SAMPLE_FRAMES_H

#include <linux/types.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct frame;
struct sample_entry;

#define SAMPLE_FRAMES_MAX (GB_MAX_KERNEL_FRAMES + GB_MAX_USER_WORDS + 1)

/*
 * Fills in the frames and the stack addresses of `entry`. The record, which is consistent, has the leaf first; the
 * buffer wants the root first. A stack that ended early has a root of kind GB_FRAME_TRUNCATED. `frames` has room for
 * SAMPLE_FRAMES_MAX.
 */
void sample_frames_turn(const struct gb_sample *sample, struct frame *frames,
			struct sample_entry *entry);

/* How many bytes a record has to have that has so many words as this one says. */
size_t sample_bytes(const struct gb_sample *sample);

/* A run of a sample: pc[at] is its first word. */
struct sample_part {
	uint32_t run, at, words;
};

/* Its first run of user code; without one, the last run, and no words. */
struct sample_part sample_user_part(const struct gb_sample *sample);

/* Copies the sample up to that part into `out`, which has room for it; its stack ends with GB_STACK_NO_PROCESS. */
void sample_without_user(const struct gb_sample *sample, struct gb_sample *out);

#endif
