/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fde_order.c - see fde_order.h.
 *
 * Words that have the start above and the index below, so that no digit needs a look at the
 * functions. Linkers put together long pieces that are in order, so one pass over the upper bits
 * leaves next to nothing to do; where it leaves more, all digits are sorted by.
 */
#include "unwind/fde_order.h"
#include "base/large.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 14
#define DIGITS (1u << DIGIT_BITS)
#define START_SHIFT 32

/* One word a function; returns whether they are in order, and in *starts all bits that any start has. */
static bool make_words(const struct eh_frame *frame, uint64_t *words, uint32_t *starts)
{
	bool is_sorted = true;
	uint32_t before = 0;
	size_t i;

	*starts = 0;
	for (i = 0; i < frame->fde_count; i++) {
		uint32_t start = frame->fdes[i].start;

		words[i] = (uint64_t)start << START_SHIFT | i;
		is_sorted &= start >= before;
		*starts |= start;
		before = start;
	}
	return is_sorted;
}

/* By DIGIT_BITS bits; those that are equal stay as they were. */
static void sort_digit(uint64_t *words, uint64_t *other, size_t count, unsigned int shift)
{
	uint32_t places[DIGITS] = {0};
	uint32_t next = 0;
	size_t i;

	for (i = 0; i < count; i++)
		places[words[i] >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		uint32_t here = places[i];

		places[i] = next;
		next += here;
	}
	for (i = 0; i < count; i++)
		other[places[words[i] >> shift & (DIGITS - 1)]++] = words[i];
	memcpy(words, other, count * sizeof(*words));
}

/* Sorts what is nearly sorted. False: it is not; the words are as they were, or somewhat better. */
static bool sort_rest(uint64_t *words, size_t count)
{
	size_t moves_left = count, i;

	for (i = 1; i < count; i++) {
		uint64_t word = words[i];
		size_t at = i;

		for (; at && words[at - 1] > word && moves_left; at--, moves_left--)
			words[at] = words[at - 1];
		words[at] = word;
		if (!moves_left)
			return false;
	}
	return true;
}

static void sort(uint64_t *words, uint64_t *other, size_t count, uint32_t starts)
{
	unsigned int bits = 32 - (unsigned int)__builtin_clz(starts), bit;

	bit = bits > DIGIT_BITS ? bits - DIGIT_BITS : 0;
	sort_digit(words, other, count, START_SHIFT + bit);
	if (sort_rest(words, count))
		return;
	for (bit = 0; bit < bits; bit += DIGIT_BITS)
		sort_digit(words, other, count, START_SHIFT + bit);
}

int fde_order_make(const struct eh_frame *frame, uint64_t **order)
{
	size_t count = frame->fde_count;
	uint64_t *words = large_alloc((2 * count + 1) * sizeof(*words));
	uint32_t starts;

	if (!words)
		return -ENOMEM;
	if (!make_words(frame, words, &starts))
		sort(words, words + count, count, starts);
	*order = words;
	return 0;
}
