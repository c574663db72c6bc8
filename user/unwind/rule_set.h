/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rule_set.h - the states that call frame programs get into, and the rule that each of them is, numbered.
 *
 *   cfa_state, 16 bytes:   how | cfa_off | fp_off | cfa_add, tracked_off     as the program left it
 *        │  hash
 *        └──> number ──> struct gb_unwind_rule                           what the kernel makes of it
 *
 * Many states are one rule (there are many ways of not being expressible), so the numbers of rules are dense and the
 * rules distinct. The rules that need no state have fixed numbers.
 */
#ifndef GECKOBPF_UNWIND_RULE_SET_H
#define GECKOBPF_UNWIND_RULE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

#define RULE_INVALID 0
#define RULE_FRAME_POINTER 1
#define RULE_SIGNAL 2
#define RULE_END 3
#define RULE_OTHER_STACK 4
#define RULE_START 5 /* the end of a stack, where nothing was called */
#define RULE_BITS 20

/* The CFA of a state. From CFA_IS_PLT11 on it is an expression. */
enum cfa_is {
	CFA_IS_NOTHING = 1, /* not defined yet, or not expressible */
	CFA_IS_REG, /* register + cfa_off */
	CFA_IS_REG_FAR, /* the same, with an offset that does not fit */
	CFA_IS_PLT11,
	CFA_IS_PLT10,
	CFA_IS_DEREF, /* *(register + cfa_off) + cfa_add */
	CFA_IS_INDEXED, /* *(SP + 8 * register + cfa_off) + cfa_add */
	CFA_IS_STRANGE, /* an expression that we do not know */
};

/* The caller's frame pointer in a state. */
enum fp_is {
	FP_IS_SAME,
	FP_IS_CFA, /* *(CFA + fp_off) */
	FP_IS_FP, /* *(FP + fp_off) */
	FP_IS_UNDEFINED,
	FP_IS_SP, /* *(SP + fp_off) */
	FP_IS_STRANGE,
};

/* The return address of a state. */
enum ra_is {
	RA_IS_CFA, /* where a call leaves it */
	RA_IS_UNDEFINED,
	RA_IS_STRANGE,
	RA_IS_INTERRUPTED, /* where a call leaves it, but it was none */
	RA_IS_REG, /* RA_IS_REG + n: DWARF register n */
};

/* Four bytes in one word, lowest first: cfa_is, its DWARF register, fp_is, ra_is. */
#define HOW_CFA(how) ((how)&0xff)
#define HOW_CFA_REG(how) (((how) >> 8) & 0xff)
#define HOW_FP(how) (((how) >> 16) & 0xff)
#define HOW_RA(how) ((how) >> 24)
#define HOW_WITH_CFA(how, is, reg) (((how)&0xffff0000) | (uint32_t)(reg) << 8 | (uint32_t)(is))
#define HOW_WITH_FP(how, is) (((how)&0xff00ffff) | (uint32_t)(is) << 16)
#define HOW_WITH_RA(how, is) (((how)&0x00ffffff) | (uint32_t)(is) << 24)

#define TRACKED_STRANGE GB_TRACKED_LOST /* tracked_off of a register that cannot be found again */

/* What is not used is 0, so that equal states are equal bytes. */
struct cfa_state {
	uint32_t how;
	int32_t cfa_off;
	int32_t fp_off;
	int16_t cfa_add;
	int16_t tracked_off;
};

/* A state as two words: what is hashed, and what can be kept in registers. */
struct cfa_key {
	uint64_t cfa; /* how, cfa_off << 32 */
	uint64_t saved; /* fp_off, cfa_add << 32, tracked_off << 48 */
};

struct rule_slot {
	struct cfa_key key; /* key.cfa == 0: free (`how` is never 0) */
	uint32_t rule;
};

struct rule_set {
	struct rule_slot *slots; /* open addressing, at most half full; may forget */
	unsigned int slot_bits;
	unsigned int slot_shift; /* 64 - slot_bits */
	uint32_t slot_count;
	uint32_t *by_rule; /* the same size, rule numbers + 1 by rule */
	struct gb_unwind_rule *rules;
	size_t count, capacity;
};

/* 0 or -ENOMEM. rule_set_close() also where this failed. */
int rule_set_open(struct rule_set *set);
void rule_set_close(struct rule_set *set);

/*
 * The number of a state that is not in the slot it hashes to, into *rule; RULE_INVALID where there
 * are too many that hash alike. 0; -EFBIG: there are too many rules or states (limits.h); -ENOMEM.
 */
int rule_set_learn(struct rule_set *set, struct cfa_key key, uint32_t *rule);

/* Whether some rule finds the CFA through GB_REG_TRACKED. */
bool rule_set_needs_tracked(const struct rule_set *set);

static inline struct cfa_key cfa_key_of(const struct cfa_state *state)
{
	return (struct cfa_key){
		.cfa = state->how | (uint64_t)(uint32_t)state->cfa_off << 32,
		.saved = (uint32_t)state->fp_off | (uint64_t)(uint16_t)state->cfa_add << 32 |
			 (uint64_t)(uint16_t)state->tracked_off << 48,
	};
}

static inline struct cfa_state cfa_state_of(struct cfa_key key)
{
	return (struct cfa_state){
		.how = (uint32_t)key.cfa,
		.cfa_off = (int32_t)(key.cfa >> 32),
		.fp_off = (int32_t)key.saved,
		.cfa_add = (int16_t)(key.saved >> 32),
		.tracked_off = (int16_t)(key.saved >> 48),
	};
}

static inline size_t rule_slot_of(struct cfa_key key, unsigned int slot_shift)
{
	uint64_t saved = key.saved << 20 | key.saved >> 44;

	return ((key.cfa ^ saved) * 0x9e3779b97f4a7c15) >> slot_shift;
}

/* The number of the rule that the state of `key` is, into *rule. 0, -EFBIG or -ENOMEM, as above. */
static inline int rule_set_number(struct rule_set *set, struct cfa_key key, uint32_t *rule)
{
	const struct rule_slot *slot = &set->slots[rule_slot_of(key, set->slot_shift)];

	if (__builtin_expect(slot->key.cfa != key.cfa || slot->key.saved != key.saved, 0))
		return rule_set_learn(set, key, rule);
	*rule = slot->rule;
	return 0;
}

#endif
