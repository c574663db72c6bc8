/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.c - see sample_frames.h. */
#include "recording/sample_frames.h"

/*
 * Why a user stack ended early, as the address of the root that stands for what is missing; 0: it did not. A thread on its way out
 * has no user stack left to miss.
 */
static uint64_t missing_root(const struct gb_sample *sample)
{
	return sample->user_end >= GB_STACK_FAILED && sample->user_end != GB_STACK_NO_MEMORY
		       ? sample->user_end
		       : 0;
}

uint32_t sample_frames_turn(const struct gb_sample *sample, uint64_t *frames)
{
	const uint64_t pc_mask = (1ULL << GB_FRAME_PC_BITS) - 1;
	const __u64 *words = sample->pc + sample->kernel_count;
	uint64_t swapped;
	uint32_t users = 0, i;

	for (i = 0; i < sample->user_count; i++) {
		frames[users++] = words[i] & pc_mask;
		if (words[i] >> GB_FRAME_PC_BITS == GB_FRAME_FAR)
			i++; /* the next word is no frame */
	}
	if (missing_root(sample))
		frames[users++] = missing_root(sample);
	for (i = 0; i < users / 2; i++) {
		swapped = frames[i];
		frames[i] = frames[users - 1 - i];
		frames[users - 1 - i] = swapped;
	}
	for (i = 0; i < sample->kernel_count; i++)
		frames[users + i] = sample->pc[sample->kernel_count - 1 - i];
	return users;
}
