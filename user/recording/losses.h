/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * losses.h - what a recording lost: when, how many, and why.
 *
 *   counters of losses, looked at again and again ──what they rose by──> struct losses ──> raw captures, markers
 *
 * The list is bounded. When it is full, losses of one cause that are near each other become one: the times are wider
 * then, and no count is lost.
 */
#ifndef GECKOBPF_RECORDING_LOSSES_H
#define GECKOBPF_RECORDING_LOSSES_H

#include <stddef.h>
#include <stdint.h>

/* Raw captures have these numbers. */
enum loss_cause {
	LOSS_UNKNOWN = 0, /* a newer version had the cause */
	LOSS_RING = 1,
	LOSS_RECURSION = 2,
	LOSS_BUFFER = 3,
	LOSS_LEFT_OUT = 4,
	LOSS_STREAM = 5,
	LOSS_TICKS = 6,
	LOSS_CONTROL_RING = 7,
	LOSS_EVENTS_RECURSION = 8,
	LOSS_TARGETS = 9,
	LOSS_MEMORY = 10,
	LOSS_BAD = 11,
	LOSS_MAPPINGS = 12,
	LOSS_EVENTS_LEFT_OUT = 13,
	LOSS_TICKS_OWN = 14,
	LOSS_TICKS_THROTTLED = 15,
	LOSS_CAUSE_COUNT
};

enum loss_kind {
	LOSS_OF_SAMPLES,
	LOSS_OF_TICKS, /* of the timer: samples that were never taken */
	LOSS_OF_EVENTS,
	LOSS_KIND_COUNT
};

struct loss_words {
	enum loss_kind kind;
	const char *counter; /* its name in the profilingLog */
	const char *why; /* "the ring of samples was full" */
};

/* By cause: what the log, the summary and the markers call it. */
extern const struct loss_words loss_words[LOSS_CAUSE_COUNT];

struct loss {
	uint64_t from_ns, to_ns; /* sometime between them */
	uint64_t count;
	enum loss_cause cause;
};

#define LOSSES_MAX 1000

/* Zero-initialised is empty. In no order. */
struct losses {
	struct loss items[LOSSES_MAX];
	size_t count;
};

void losses_add(struct losses *losses, const struct loss *loss);

#endif
