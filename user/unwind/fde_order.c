/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fde_order.c - see fde_order.h.
 *
 * A radix sort of words that have the start above and the index below, so that no digit needs a look at the functions.
 */
#include "unwind/fde_order.h"

#include <errno.h>
#include <stdlib.h>

#define DIGIT_BITS 11
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

static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned int shift)
{
	size_t places[DIGITS] = {0};
	size_t i, next = 0;

	for (i = 0; i < count; i++)
		places[from[i] >> shift & (DIGITS - 1)]++;
	for (i = 0; i < DIGITS; i++) {
		size_t here = places[i];

		places[i] = next;
		next += here;
	}
	for (i = 0; i < count; i++)
		to[places[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

int fde_order_make(const struct eh_frame *frame, uint64_t **order)
{
	uint64_t *words = malloc((frame->fde_count + 1) * sizeof(*words));
	uint64_t *other, *swap;
	unsigned int bit;
	uint32_t starts;

	if (!words)
		return -ENOMEM;
	if (make_words(frame, words, &starts)) {
		*order = words;
		return 0;
	}
	other = malloc(frame->fde_count * sizeof(*other));
	if (!other) {
		free(words);
		return -ENOMEM;
	}
	for (bit = 0; bit < 32 && starts >> bit; bit += DIGIT_BITS) {
		sort_digit(words, other, frame->fde_count, START_SHIFT + bit);
		swap = words;
		words = other;
		other = swap;
	}
	free(other);
	*order = words;
	return 0;
}
