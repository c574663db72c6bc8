/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending.h - records that wait until all that happened before them is there: a heap, the earliest on top.
 *
 * Of equal times the one that was put first comes first. Putting and taking cost the logarithm of how many wait,
 * however often they alternate.
 */
#ifndef GECKOBPF_CAPTURE_PENDING_H
#define GECKOBPF_CAPTURE_PENDING_H

#include <stddef.h>
#include <stdint.h>

struct gb_record;
struct pending_record;

/* Zero-initialised is empty. */
struct pending {
	struct pending_record *items; /* none is earlier than its parent, item (i - 1) / 2 */
	size_t count, capacity;
	uint64_t put_count; /* of all times */
};

void pending_clear(struct pending *pending);
/* A copy of the record, of `size` bytes. 0 or -ENOMEM. */
int pending_put(struct pending *pending, const struct gb_record *record, size_t size);
/* The time of the earliest; UINT64_MAX: there is none. */
uint64_t pending_first_ns(const struct pending *pending);
/* The earliest, if that is before `before_ns`; the caller frees it. NULL: there is none. */
struct gb_record *pending_take(struct pending *pending, uint64_t before_ns);

#endif
