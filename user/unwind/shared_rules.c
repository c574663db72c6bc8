/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_rules.c - see shared_rules.h. */
#include "unwind/shared_rules.h"

#include "unwind/table_store.h"

#include <errno.h>
#include <string.h>

#define SLOT_MASK (2 * GB_MAX_RULES - 1)

static uint32_t hash_rule(const struct gb_unwind_rule *rule)
{
	uint64_t words[2];

	_Static_assert(sizeof(words) == sizeof(*rule), "a rule is two words");
	memcpy(words, rule, sizeof(words));
	words[0] = (words[0] ^ words[1] * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;
	return (uint32_t)(words[0] >> 40);
}

/* Where the rule is, or the free slot that it would get. */
static uint32_t *find_slot(struct shared_rules *rules, const struct gb_unwind_rule *rule)
{
	uint32_t at = hash_rule(rule) & SLOT_MASK;

	while (rules->slots[at] &&
	       memcmp(&rules->memory[rules->slots[at] - 1], rule, sizeof(*rule)))
		at = (at + 1) & SLOT_MASK;
	return &rules->slots[at];
}

bool shared_rules_has(const struct shared_rules *rules, const struct gb_unwind_rule *rule)
{
	const uint32_t *slot = find_slot((struct shared_rules *)rules, rule);

	return *slot && rules->uses[*slot - 1];
}

static bool may_recycle(const struct shared_rules *rules, uint32_t number, uint64_t now_ns)
{
	return !rules->uses[number] &&
	       table_store_grace_is_over(rules->unused_since_ns[number], now_ns);
}

/* All numbers are given out: those that nobody can read are free again, and no slot leads to them. */
static void recycle(struct shared_rules *rules, uint64_t now_ns)
{
	uint32_t number;

	for (number = 0; number < rules->top; number++)
		if (may_recycle(rules, number, now_ns))
			rules->recycled[rules->recycled_count++] = number;
	if (!rules->recycled_count)
		return;
	memset(rules->slots, 0, sizeof(rules->slots));
	for (number = 0; number < rules->top; number++)
		if (!may_recycle(rules, number, now_ns))
			*find_slot(rules, &rules->memory[number]) = number + 1;
}

static int take_number(struct shared_rules *rules, uint64_t now_ns, uint32_t *number)
{
	if (rules->top < GB_MAX_RULES) {
		*number = rules->top++;
		return 0;
	}
	if (!rules->recycled_count)
		recycle(rules, now_ns);
	if (!rules->recycled_count)
		return -ENOSPC;
	*number = rules->recycled[--rules->recycled_count];
	return 0;
}

int shared_rules_use(struct shared_rules *rules, const struct gb_unwind_rule *rule, uint64_t now_ns,
		     uint32_t *number)
{
	uint32_t *slot = find_slot(rules, rule);

	if (!*slot) {
		if (take_number(rules, now_ns, number))
			return -ENOSPC;
		rules->memory[*number] = *rule;
		*find_slot(rules, rule) = *number + 1; /* recycling moves slots */
	} else {
		*number = *slot - 1;
	}
	if (!rules->uses[*number]++)
		rules->used++;
	return 0;
}

void shared_rules_release(struct shared_rules *rules, uint32_t number, uint64_t now_ns)
{
	if (rules->unused_since_ns[number] < now_ns)
		rules->unused_since_ns[number] = now_ns;
	if (!--rules->uses[number])
		rules->used--;
}
