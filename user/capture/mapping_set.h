/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapping_set.h - the mappings that a process has now: sorted, nothing overlaps.
 *
 *   before   [──── a ────)[─ b ─)   [──── c ────)
 *   new             [─────── x ───────)
 *   after    [─ a ─)[─────── x ───────)[── c ──)
 */
#ifndef GECKOBPF_CAPTURE_MAPPING_SET_H
#define GECKOBPF_CAPTURE_MAPPING_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

/* A mapping with the number of the object behind it. */
struct live_mapping {
	struct gb_mapping mapping;
	uint32_t object;
	bool has_code; /* of a file that has unwind information: its table may come and go */
};

/* Zero-initialised is empty. */
struct mapping_set {
	struct live_mapping *items;
	size_t count, capacity;
};

/* Counts the mappings of each object, in all sets. */
struct mapping_counter {
	/* +1: there is one more; -1: one less */
	void (*count)(void *context, uint32_t object, int change);
	void *context;
};

/* Without counting. */
void mapping_set_clear(struct mapping_set *set);

/*
 * Adds a mapping (begin < end); what it covers of others is theirs no more. 0, or -ENOMEM with nothing changed or
 * counted.
 */
int mapping_set_overlay(struct mapping_set *set, const struct live_mapping *item,
			const struct mapping_counter *counter);

#endif
