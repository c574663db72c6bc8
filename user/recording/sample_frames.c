/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.c - see sample_frames.h. */
#include "recording/sample_frames.h"

#include <stdbool.h>
#include <string.h>

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

/* Words of user code, some of which come in pairs. Returns the number of frames. */
static uint32_t take_user(const __u64 *words, uint32_t count, struct frame *frames)
{
	const uint64_t pc_mask = (1ULL << GB_FRAME_PC_BITS) - 1;
	uint32_t taken = 0, i;

	for (i = 0; i < count; i++) {
		frames[taken++] =
			(struct frame){.value = words[i] & pc_mask, .kind = GB_FRAME_USER};
		if (words[i] >> GB_FRAME_PC_BITS == GB_FRAME_FAR)
			i++; /* the next word is no frame */
	}
	return taken;
}

static uint32_t take_values(const __u64 *words, const struct gb_frame_run *run,
			    struct frame *frames)
{
	uint32_t i;

	for (i = 0; i < run->words; i++)
		frames[i] = (struct frame){.value = words[i], .kind = (uint8_t)run->kind};
	return run->words;
}

uint32_t sample_frames_turn(const struct gb_sample *sample, struct frame *frames)
{
	const __u64 *words = sample->pc;
	uint32_t count = 0, i;

	for (i = 0; i < GB_SAMPLE_RUNS; i++) {
		const struct gb_frame_run *run = &sample->runs[i];

		if (run->kind == GB_FRAME_USER)
			count += take_user(words, run->words, frames + count);
		else
			count += take_values(words, run, frames + count);
		words += run->words;
	}
	if (is_truncated(sample))
		frames[count++] =
			(struct frame){.value = sample->user_end, .kind = GB_FRAME_TRUNCATED};
	reverse(frames, count);
	return count;
}

size_t sample_bytes(const struct gb_sample *sample)
{
	size_t words = 0, i;

	for (i = 0; i < GB_SAMPLE_RUNS; i++)
		words += sample->runs[i].words;
	return sizeof(*sample) + words * sizeof(sample->pc[0]);
}

struct sample_part sample_user_part(const struct gb_sample *sample)
{
	struct sample_part part = {0};

	for (; part.run < GB_SAMPLE_RUNS - 1; part.run++) {
		part.words = sample->runs[part.run].words;
		if (part.words && sample->runs[part.run].kind == GB_FRAME_USER)
			return part;
		part.at += part.words;
	}
	part.words = 0;
	return part;
}

void sample_without_user(const struct gb_sample *sample, struct gb_sample *out)
{
	const struct sample_part user = sample_user_part(sample);
	uint32_t run;

	memcpy(out, sample, sizeof(*out) + user.at * sizeof(sample->pc[0]));
	for (run = user.run; run < GB_SAMPLE_RUNS; run++)
		out->runs[run] = (struct gb_frame_run){.kind = GB_FRAME_USER};
	out->hdr.kind = GB_RECORD_SAMPLE;
	out->hdr.size = (__u32)sample_bytes(out);
	out->user_end = GB_STACK_NO_PROCESS;
}
