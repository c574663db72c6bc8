/* SPDX-License-Identifier: BSD-2-Clause */
/* losses.c - see losses.h. A new cause is a number there, a row here, and one in session/counters.c. */
#include "recording/losses.h"

#include <stdbool.h>
#include <stdlib.h>

/* Two neighbours of the recorder's looks fit into it. */
#define FIRST_SPAN_NS (1ULL << 28)

const struct loss_words loss_words[LOSS_CAUSE_COUNT] = {
	[LOSS_UNKNOWN] = {LOSS_OF_SAMPLES, "?", "a newer geckobpf knows why"},
	[LOSS_RING] = {LOSS_OF_SAMPLES, "samples_lost_ring_full", "the ring of samples was full"},
	[LOSS_RECURSION] = {LOSS_OF_SAMPLES, "samples_lost_recursion",
			    "the kernel skipped the program that takes them"},
	[LOSS_BUFFER] = {LOSS_OF_SAMPLES, "samples_lost_buffer",
			 "the buffer found no memory for them"},
	[LOSS_LEFT_OUT] = {LOSS_OF_SAMPLES, "samples_left_out_at_end",
			   "the recorder was too far behind at the end"},
	[LOSS_STREAM] = {LOSS_OF_SAMPLES, "samples_overwritten",
			 "they were overwritten before the stream had them"},
	[LOSS_TICKS] = {LOSS_OF_TICKS, "timer_ticks_missed_other",
			"a hypervisor had the CPUs, or interrupts were off"},
	[LOSS_CONTROL_RING] = {LOSS_OF_EVENTS, "events_lost_ring_full",
			       "the control ring was full"},
	[LOSS_EVENTS_RECURSION] = {LOSS_OF_EVENTS, "events_lost_recursion",
				   "the kernel skipped a program that sends them"},
	[LOSS_TARGETS] = {LOSS_OF_EVENTS, "children_not_followed",
			  "there was no room for more processes to follow"},
	[LOSS_MEMORY] = {LOSS_OF_EVENTS, "records_lost_memory", "the recorder had no memory"},
	[LOSS_BAD] = {LOSS_OF_EVENTS, "records_bad", "they made no sense"},
	[LOSS_MAPPINGS] = {LOSS_OF_EVENTS, "mappings_lost_ring_full",
			   "a ring of mapped files was full"},
	[LOSS_EVENTS_LEFT_OUT] = {LOSS_OF_EVENTS, "events_left_out_at_end",
				  "the recorder was too far behind at the end"},
	[LOSS_TICKS_OWN] = {LOSS_OF_TICKS, "timer_ticks_missed_own",
			    "to take a sample took longer than the time between two"},
	[LOSS_TICKS_THROTTLED] = {LOSS_OF_TICKS, "timer_ticks_missed_throttled",
				  "the kernel throttled the timer"},
};

static int by_cause_and_time(const void *a, const void *b)
{
	const struct loss *left = a, *right = b;

	if (left->cause != right->cause)
		return left->cause < right->cause ? -1 : 1;
	if (left->from_ns != right->from_ns)
		return left->from_ns < right->from_ns ? -1 : 1;
	return 0;
}

/* `more` begins no earlier. Whether it became part of `loss`, which is no longer than `span_ns` then. */
static bool fold_into(struct loss *loss, const struct loss *more, uint64_t span_ns)
{
	uint64_t to_ns = more->to_ns > loss->to_ns ? more->to_ns : loss->to_ns;

	if (more->cause != loss->cause || to_ns - loss->from_ns > span_ns)
		return false;
	loss->to_ns = to_ns;
	loss->count += more->count;
	if (loss->count < more->count)
		loss->count = UINT64_MAX; /* no recorder has so many */
	return true;
}

/* `losses` is sorted, and has one at least. */
static void fold_within(struct losses *losses, uint64_t span_ns)
{
	size_t kept = 0, i;

	for (i = 1; i < losses->count; i++)
		if (!fold_into(&losses->items[kept], &losses->items[i], span_ns))
			losses->items[++kept] = losses->items[i];
	losses->count = kept + 1;
}

/* Half of it is free then: there are fewer causes. */
static void make_room(struct losses *losses)
{
	uint64_t span_ns = FIRST_SPAN_NS;

	qsort(losses->items, losses->count, sizeof(losses->items[0]), by_cause_and_time);
	while (losses->count > LOSSES_MAX / 2) {
		fold_within(losses, span_ns);
		span_ns = span_ns > UINT64_MAX / 2 ? UINT64_MAX : 2 * span_ns;
	}
}

void losses_add(struct losses *losses, const struct loss *loss)
{
	if (losses->count == LOSSES_MAX)
		make_room(losses);
	losses->items[losses->count++] = *loss;
}
