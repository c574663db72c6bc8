/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_rules.h - the rules of all tables: each is stored once, under a number, with how many tables use it.
 *
 *   not given out ──> used ──last release──> unused, still found by what it says
 *                                              '──a second later, if numbers are out──> another rule
 *
 * Most rules that nobody uses come back with the next table, so their numbers are taken only when there are no others.
 */
#ifndef GECKOBPF_UNWIND_SHARED_RULES_H
#define GECKOBPF_UNWIND_SHARED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "geckobpf_abi.h"

/* Zero-initialised but for `memory` is empty. */
struct shared_rules {
	struct gb_unwind_rule *memory; /* GB_MAX_RULES, borrowed */
	uint32_t used; /* rules that tables use */
	uint32_t top; /* numbers below were given out */
	uint32_t uses[GB_MAX_RULES];
	uint64_t unused_since_ns[GB_MAX_RULES]; /* where uses is 0 */
	uint32_t slots[2 * GB_MAX_RULES]; /* open addressing: rule number + 1; 0: free */
	uint32_t recycled[GB_MAX_RULES]; /* numbers in no slot */
	uint32_t recycled_count;
};

/* The number of `rule`, which has one use more. 0, or -ENOSPC: no number is free. */
int shared_rules_use(struct shared_rules *rules, const struct gb_unwind_rule *rule, uint64_t now_ns,
		     uint32_t *number);
/* Whether it has a number already, which costs none. */
bool shared_rules_has(const struct shared_rules *rules, const struct gb_unwind_rule *rule);
void shared_rules_release(struct shared_rules *rules, uint32_t number, uint64_t now_ns);

#endif
