/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.h - the frames of a sample as the kernel sends it, as the buffer wants them. */
#ifndef GECKOBPF_RECORDING_SAMPLE_FRAMES_H
#define GECKOBPF_RECORDING_SAMPLE_FRAMES_H

#include <linux/types.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct frame;

#define SAMPLE_FRAMES_MAX (GB_MAX_KERNEL_FRAMES + GB_MAX_USER_WORDS + 1)

/*
 * The record, which is consistent, has the leaf first, kernel frames before user frames; the buffer wants the root first, and no stack
 * addresses. A stack that ended early has a root of kind GB_FRAME_TRUNCATED. `frames` has room for SAMPLE_FRAMES_MAX. Returns their number.
 */
uint32_t sample_frames_turn(const struct gb_sample *sample, struct frame *frames);

#endif
