/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.c - see sample_frames.h. */
#include "recording/sample_frames.h"

#include <stdbool.h>

#include "buffer/frame.h"

/* Whether frames are missing at the root. A thread on its way out has no user stack left to miss. */
static bool is_truncated(const struct gb_sample *sample)
{
	return sample->user_end >= GB_STACK_FAILED && sample->user_end != GB_STACK_NO_MEMORY;
}

/* Turns frames around. */
static void reverse(struct frame *frames, uint32_t count)
{
	struct frame swapped;
	uint32_t i;

	for (i = 0; i < count / 2; i++) {
		swapped = frames[i];
		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = swapped;
	}
}

uint32_t sample_frames_turn(const struct gb_sample *sample, struct frame *frames)
{
	const uint64_t pc_mask = (1ULL << GB_FRAME_PC_BITS) - 1;
	const __u64 *words = sample->pc + sample->kernel_count;
	uint32_t count = 0, i;

	for (i = 0; i < sample->kernel_count; i++)
		frames[count++] = (struct frame){.value = sample->pc[i], .kind = GB_FRAME_KERNEL};
	for (i = 0; i < sample->user_count; i++) {
		frames[count++] =
			(struct frame){.value = words[i] & pc_mask, .kind = GB_FRAME_USER};
		if (words[i] >> GB_FRAME_PC_BITS == GB_FRAME_FAR)
			i++; /* the next word is no frame */
	}
	if (is_truncated(sample))
		frames[count++] =
			(struct frame){.value = sample->user_end, .kind = GB_FRAME_TRUNCATED};
	reverse(frames, count);
	return count;
}
