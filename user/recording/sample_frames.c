/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_frames.c - see sample_frames.h. */
#include "recording/sample_frames.h"

#include <stdbool.h>
#include <string.h>

#include "buffer/profile_buffer.h"

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

/* Frames as they are taken, leaf first. */
struct taking {
	struct frame *frames;
	uint32_t count, users; /* all, and those of user code */
	uint64_t sp; /* RSP of the next frame of user code; 0: not known */
	uint64_t far_sp; /* that of the last one that was FAR */
};

/* See GB_FRAME_PC_BITS. */
static struct frame user_frame(__u64 word)
{
	static const uint8_t kinds[4] = {
		[GB_FRAME_HOW_CALLER] = GB_FRAME_USER,
		[GB_FRAME_HOW_LEAF] = GB_FRAME_USER,
		[GB_FRAME_HOW_INTERRUPTED] = GB_FRAME_INTERRUPTED,
		[GB_FRAME_HOW_SIGNAL] = GB_FRAME_SIGNAL,
	};
	uint64_t size = GB_FRAME_SIZE(word);

	return (struct frame){
		.value = GB_FRAME_PC(word),
		.stack_words = size == GB_FRAME_FAR ? FRAME_FAR : (uint16_t)size,
		.kind = kinds[GB_FRAME_HOW(word)],
	};
}

/* Words of user code, some of which come in pairs. */
static void take_user(struct taking *taking, const __u64 *words, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		const struct frame frame = user_frame(words[i]);

		taking->frames[taking->count++] = frame;
		if (frame.stack_words == FRAME_FAR) {
			taking->far_sp = taking->sp;
			taking->sp = ++i < count ? words[i] : 0;
		} else if (taking->sp) {
			taking->sp += (uint64_t)frame.stack_words * 8;
		}
		taking->users++;
	}
}

static void take_values(struct taking *taking, const __u64 *words, const struct gb_frame_run *run)
{
	uint32_t i;

	for (i = 0; i < run->words; i++)
		taking->frames[taking->count++] =
			(struct frame){.value = words[i], .kind = (uint8_t)run->kind};
}

void sample_frames_turn(const struct gb_sample *sample, struct frame *frames,
			struct sample_entry *entry)
{
	struct taking taking = {.frames = frames, .sp = sample->user_sp};
	const __u64 *words = sample->pc;
	uint32_t i;

	for (i = 0; i < GB_SAMPLE_RUNS; i++) {
		const struct gb_frame_run *run = &sample->runs[i];

		if (run->kind == GB_FRAME_USER)
			take_user(&taking, words, run->words);
		else
			take_values(&taking, words, run);
		words += run->words;
	}
	if (is_truncated(sample))
		frames[taking.count++] =
			(struct frame){.value = sample->user_end, .kind = GB_FRAME_TRUNCATED};
	reverse(frames, taking.count);
	entry->frames = frames;
	entry->frame_count = taking.count;
	entry->stack_base = taking.users ? taking.sp : 0;
	entry->far_sp = taking.far_sp;
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
