/* SPDX-License-Identifier: BSD-2-Clause */
/* rule_set.c - see rule_set.h. */
#include "unwind/rule_set.h"
#include "base/array.h"
#include "unwind/arch.h"
#include "unwind/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_BITS 11
#define PROBE_MAX 64 /* slots looked at: a file made to collide must not cost more than any other */

_Static_assert(sizeof(struct gb_unwind_rule) == 16, "rules are hashed and compared as two words");

/* The CFA part of a rule; false: no rule can say it. */
static bool rule_cfa(const struct cfa_state *state, struct gb_unwind_rule *rule)
{
	uint32_t reg = HOW_CFA_REG(state->how);
	int gb_reg;

	rule->cfa_off = state->cfa_off;
	switch (HOW_CFA(state->how)) {
	case CFA_IS_REG:
		gb_reg = machine_gb_reg(reg);
		if (reg == MACHINE_REG_SP)
			rule->cfa = GB_CFA_SP;
		else if (reg == MACHINE_REG_FP)
			rule->cfa = GB_CFA_FP;
		else if (gb_reg >= 0)
			rule->cfa = GB_CFA_REG;
		rule->reg = gb_reg >= 0 ? (uint8_t)gb_reg : 0;
		break;
	case CFA_IS_DEREF:
		if (reg == MACHINE_REG_SP)
			rule->cfa = GB_CFA_SP_DEREF;
		else if (reg == MACHINE_REG_FP)
			rule->cfa = GB_CFA_FP_DEREF;
		rule->cfa_add = state->cfa_add;
		break;
	case CFA_IS_INDEXED:
		gb_reg = machine_gb_reg(reg);
		if (gb_reg < 0)
			break;
		rule->cfa = GB_CFA_SP_INDEXED;
		rule->reg = (uint8_t)gb_reg;
		rule->cfa_add = state->cfa_add;
		break;
	case CFA_IS_PLT11:
		rule->cfa = GB_CFA_PLT11;
		break;
	case CFA_IS_PLT10:
		rule->cfa = GB_CFA_PLT10;
		break;
	}
	return rule->cfa != GB_CFA_INVALID;
}

static bool rule_fp(const struct cfa_state *state, struct gb_unwind_rule *rule)
{
	static const uint8_t kinds[] = {
		[FP_IS_SAME] = GB_FP_SAME,           [FP_IS_CFA] = GB_FP_CFA, [FP_IS_FP] = GB_FP_FP,
		[FP_IS_UNDEFINED] = GB_FP_UNDEFINED, [FP_IS_SP] = GB_FP_SP,
	};
	uint32_t is = HOW_FP(state->how);

	if (is == FP_IS_STRANGE)
		return false;
	rule->fp = kinds[is];
	rule->fp_off = state->fp_off;
	return true;
}

static bool rule_ra(const struct cfa_state *state, struct gb_unwind_rule *rule)
{
	uint32_t is = HOW_RA(state->how);
	int gb_reg;

	rule->ra = GB_RA_CFA;
	if (is == RA_IS_INTERRUPTED)
		rule->ra = GB_RA_INTERRUPTED;
	if (is == RA_IS_CFA || is == RA_IS_INTERRUPTED)
		return true;
	gb_reg = is >= RA_IS_REG ? machine_gb_reg(is - RA_IS_REG) : -1;
	if (gb_reg < 0)
		return false;
	rule->ra = GB_RA_REG;
	rule->reg |= (uint8_t)(gb_reg << 4);
	return true;
}

static struct gb_unwind_rule rule_of(const struct cfa_state *state)
{
	struct gb_unwind_rule rule = {.tracked_off = state->tracked_off};

	if (HOW_RA(state->how) == RA_IS_UNDEFINED)
		return (struct gb_unwind_rule){.cfa = GB_CFA_END};
	if (!rule_cfa(state, &rule) || !rule_fp(state, &rule) || !rule_ra(state, &rule))
		return (struct gb_unwind_rule){.cfa = GB_CFA_INVALID};
	return rule;
}

static size_t rule_hash(const struct gb_unwind_rule *rule, unsigned int slot_shift)
{
	struct cfa_key key;

	memcpy(&key, rule, sizeof(key));
	return rule_slot_of(key, slot_shift);
}

/* Its place in by_rule: where it is, or where it would go; NULL: too far away. */
static uint32_t *find_rule(const struct rule_set *set, const struct gb_unwind_rule *rule)
{
	size_t mask = ((size_t)1 << set->slot_bits) - 1;
	size_t at = rule_hash(rule, set->slot_shift);
	unsigned int step;

	for (step = 0; step < PROBE_MAX; step++, at = (at + 1) & mask) {
		uint32_t *place = &set->by_rule[at];

		if (!*place || !memcmp(&set->rules[*place - 1], rule, sizeof(*rule)))
			return place;
	}
	return NULL;
}

static int add_rule(struct rule_set *set, const struct gb_unwind_rule *rule, uint32_t *number)
{
	uint32_t *place = find_rule(set, rule);
	int err;

	if (!place) {
		*number = RULE_INVALID;
		return 0;
	}
	if (!*place) {
		if (set->count == UNWIND_RULES_MAX)
			return -EFBIG;
		err = array_reserve((void **)&set->rules, &set->capacity, set->count + 1,
				    sizeof(*rule));
		if (err)
			return err;
		set->rules[set->count++] = *rule;
		*place = (uint32_t)set->count;
	}
	*number = *place - 1;
	return 0;
}

/* Like find_rule(), for states. */
static struct rule_slot *find_slot(const struct rule_set *set, struct cfa_key key)
{
	size_t mask = ((size_t)1 << set->slot_bits) - 1;
	size_t at = rule_slot_of(key, set->slot_shift);
	unsigned int step;

	for (step = 0; step < PROBE_MAX; step++, at = (at + 1) & mask) {
		struct rule_slot *slot = &set->slots[at];

		if (!slot->key.cfa || (slot->key.cfa == key.cfa && slot->key.saved == key.saved))
			return slot;
	}
	return NULL;
}

static void rehash(struct rule_set *set, const struct rule_slot *old, size_t old_count)
{
	struct rule_slot *slot;
	uint32_t *place;
	size_t i;

	for (i = 0; i < old_count; i++) {
		slot = old[i].key.cfa ? find_slot(set, old[i].key) : NULL;
		if (slot)
			*slot = old[i];
	}
	for (i = 0; i < set->count; i++) {
		place = find_rule(set, &set->rules[i]);
		if (place)
			*place = (uint32_t)i + 1;
	}
}

/* Both tables anew, twice as large. */
static int grow(struct rule_set *set, unsigned int slot_bits)
{
	size_t old_count = set->slots ? (size_t)1 << set->slot_bits : 0;
	struct rule_slot *slots = calloc((size_t)1 << slot_bits, sizeof(*slots));
	uint32_t *by_rule = calloc((size_t)1 << slot_bits, sizeof(*by_rule));
	struct rule_slot *old = set->slots;

	if (!slots || !by_rule) {
		free(slots);
		free(by_rule);
		return -ENOMEM;
	}
	free(set->by_rule);
	set->slots = slots;
	set->by_rule = by_rule;
	set->slot_bits = slot_bits;
	set->slot_shift = 64 - slot_bits;
	rehash(set, old, old_count);
	free(old);
	return 0;
}

int rule_set_learn(struct rule_set *set, struct cfa_key key, uint32_t *rule)
{
	struct cfa_state state = cfa_state_of(key);
	struct rule_slot *slot = find_slot(set, key);
	struct gb_unwind_rule made;
	int err;

	if (slot && slot->key.cfa) {
		*rule = slot->rule;
		return 0;
	}
	if (set->slot_count == UNWIND_STATES_MAX)
		return -EFBIG;
	if (set->slot_count >= (1u << set->slot_bits) / 2) {
		err = grow(set, set->slot_bits + 1);
		if (err)
			return err;
		slot = find_slot(set, key);
	}
	made = rule_of(&state);
	err = add_rule(set, &made, rule);
	if (err || !slot)
		return err;
	*slot = (struct rule_slot){key, *rule};
	set->slot_count++;
	return 0;
}

static int add_fixed_rules(struct rule_set *set)
{
	static const struct gb_unwind_rule fixed[] = {
		[RULE_INVALID] = {.cfa = GB_CFA_INVALID},
		[RULE_FRAME_POINTER] = {.cfa = GB_CFA_FRAME_POINTER},
		[RULE_SIGNAL] = {.cfa = GB_CFA_SIGNAL},
		[RULE_END] = {.cfa = GB_CFA_END},
		[RULE_START] = {.cfa = GB_CFA_END, .ra = GB_RA_INTERRUPTED},
		[RULE_OTHER_STACK] = {.cfa = GB_CFA_FP,
				      .fp = GB_FP_CFA,
				      .ra = GB_RA_OTHER_STACK,
				      .cfa_off = 16,
				      .fp_off = -16,
				      .tracked_off = GB_TRACKED_LOST},
	};
	uint32_t number;
	size_t i;
	int err;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		err = add_rule(set, &fixed[i], &number);
		if (err)
			return err;
	}
	return 0;
}

bool rule_set_needs_tracked(const struct rule_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++) {
		const struct gb_unwind_rule *rule = &set->rules[i];

		if (rule->cfa == GB_CFA_REG && (rule->reg & 0xf) == GB_REG_RBX)
			return true;
	}
	return false;
}

int rule_set_open(struct rule_set *set)
{
	int err;

	*set = (struct rule_set){0};
	err = grow(set, FIRST_SLOT_BITS);
	return err ? err : add_fixed_rules(set);
}

void rule_set_close(struct rule_set *set)
{
	free(set->slots);
	free(set->by_rule);
	free(set->rules);
	*set = (struct rule_set){0};
}
