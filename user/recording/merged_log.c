/* SPDX-License-Identifier: BSD-2-Clause */
/* merged_log.c - see merged_log.h. */
#include "recording/merged_log.h"

#include "recording/fact_list.h"

#include <string.h>

enum fact_rule {
	FACT_ADDS_UP,
	FACT_LEAST,
	FACT_MOST,
	/* A setting: one that is another in another recording, or is not there, is not one of the whole. */
	FACT_AGREES,
};

/* Numbers that do not add up. */
static const struct {
	const char *name;
	enum fact_rule rule;
} rules[] = {
	{RECORDING_COST_LEAST, FACT_LEAST},   {RECORDING_COST_MOST, FACT_MOST},
	{RECORDING_COST_MEMORY, FACT_MOST},   {"period_ns", FACT_AGREES},
	{RECORDING_MAIN_MEMORY, FACT_AGREES}, {"sampling_rate_hz", FACT_AGREES},
};

static enum fact_rule rule_of(const struct recording_fact *fact)
{
	size_t i;

	if (fact->text)
		return FACT_AGREES;
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].name, fact->name))
			return rules[i].rule;
	return FACT_ADDS_UP;
}

static void merge(uint64_t *value, const struct recording_fact *fact)
{
	const enum fact_rule rule = rule_of(fact);

	if (rule == FACT_ADDS_UP)
		*value += fact->value;
	else if ((rule == FACT_LEAST && fact->value < *value) ||
		 (rule == FACT_MOST && fact->value > *value))
		*value = fact->value;
}

static void add(struct fact_list *log, const struct recording_fact *fact)
{
	const struct recording_fact *known = fact_find(log->items, log->count, fact->name);

	if (!known)
		fact_list_add(log, fact);
	else if (!known->text)
		merge(&log->items[known - log->items].value, fact);
}

int merged_log_add(struct fact_list *log, const struct recording_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->log_count && !log->error; i++)
		add(log, &facts->log[i]);
	return log->error;
}

static bool is_same(const struct recording_fact *a, const struct recording_fact *b)
{
	if (!a->text || !b->text)
		return a->value == b->value && !a->text && !b->text;
	return a->value == b->value && !strcmp(a->text, b->text);
}

struct recordings {
	const struct recording_facts *const *items;
	size_t count;
};

static bool is_of_all(void *context, const struct recording_fact *fact)
{
	const struct recordings *recordings = context;
	size_t i;

	if (rule_of(fact) != FACT_AGREES)
		return true;
	for (i = 0; i < recordings->count; i++) {
		const struct recording_fact *other = fact_find(
			recordings->items[i]->log, recordings->items[i]->log_count, fact->name);

		if (!other || !is_same(other, fact))
			return false;
	}
	return true;
}

void merged_log_finish(struct fact_list *log, const struct recording_facts *const *all,
		       size_t count)
{
	struct recordings recordings = {all, count};

	fact_list_keep(log, is_of_all, &recordings);
}
