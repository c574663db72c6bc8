/* SPDX-License-Identifier: BSD-2-Clause */
/* merged_facts.c - see merged_facts.h. */
#include "recording/merged_facts.h"

#include "base/array.h"
#include "recording/fact_list.h"
#include "recording/facts_copy.h"
#include "recording/losses.h"
#include "recording/merged_log.h"
#include "recording/time_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 256

struct names {
	const char **items; /* each once; the last is the NULL behind them */
	size_t count, capacity;
};

/* One recording; times are in the clock of the first one but for those in `copy`. */
struct part {
	struct facts_copy copy;
	char *name;
	uint64_t start_ns, end_ns, until_ns;
	uint64_t later_ns; /* makes them those of the first one's clock */
	struct time_ranges pauses;
};

struct merged_facts {
	struct part **items;
	size_t count, capacity;
	/* Of the whole; `facts` points to the others. */
	struct names threads, features;
	struct time_ranges pauses;
	struct losses losses;
	struct fact_list log;
	struct recording_part *parts;
	char title[TITLE_BYTES];
	struct recording_facts facts;
};

int merged_facts_open(struct merged_facts **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void close_part(struct part *part)
{
	facts_copy_clear(&part->copy);
	free(part->name);
	free(part->pauses.items);
	free(part);
}

void merged_facts_close(struct merged_facts *merged)
{
	size_t i;

	if (!merged)
		return;
	for (i = 0; i < merged->count; i++)
		close_part(merged->items[i]);
	free(merged->items);
	free(merged->threads.items);
	free(merged->features.items);
	free(merged->pauses.items);
	fact_list_clear(&merged->log);
	free(merged->parts);
	free(merged);
}

/* ---- time -------------------------------------------------------------------------- */

static uint64_t moved(uint64_t time_ns, uint64_t later_ns)
{
	int64_t sum = (int64_t)(time_ns + later_ns);

	return sum > 0 ? (uint64_t)sum : 0;
}

/* When it took no samples, from the beginning of time to its end, in order. */
static int collect_pauses(struct part *part, uint64_t later_ns)
{
	uint64_t reached_ns = part->start_ns;
	size_t i;
	int err = time_ranges_add(&part->pauses, 0, part->start_ns);

	for (i = 0; i < part->copy.facts.pause_count && !err; i++) {
		uint64_t start_ns = moved(part->copy.facts.pauses[i].start_ns, later_ns);
		uint64_t end_ns = part->copy.facts.pauses[i].end_ns;

		end_ns = end_ns ? moved(end_ns, later_ns) : part->end_ns;
		if (start_ns < reached_ns)
			start_ns = reached_ns;
		if (end_ns > part->end_ns)
			end_ns = part->end_ns;
		err = time_ranges_add(&part->pauses, start_ns, end_ns);
		if (end_ns > reached_ns)
			reached_ns = end_ns;
	}
	return err ? err : time_ranges_add(&part->pauses, part->end_ns, UINT64_MAX);
}

static int merge_pauses(struct merged_facts *merged)
{
	size_t i;
	int err = time_ranges_add(&merged->pauses, merged->facts.start_ns, merged->facts.end_ns);

	for (i = 0; i < merged->count && !err; i++) {
		struct time_ranges both = {0};

		err = time_ranges_intersect(&merged->pauses, &merged->items[i]->pauses, &both);
		free(merged->pauses.items);
		merged->pauses = both;
	}
	merged->facts.pauses = merged->pauses.items;
	merged->facts.pause_count = merged->pauses.count;
	return err;
}

static void merge_times(struct merged_facts *merged, const struct part *part)
{
	struct recording_facts *facts = &merged->facts;

	if (part->end_ns >= facts->end_ns) {
		facts->end_ns = part->end_ns;
		facts->until_ns = part->until_ns;
	}
	if (part->copy.facts.interval_ns < facts->interval_ns)
		facts->interval_ns = part->copy.facts.interval_ns;
	if (part->copy.facts.buffer_bytes > facts->buffer_bytes)
		facts->buffer_bytes = part->copy.facts.buffer_bytes;
	if (part->copy.facts.include_args > facts->include_args)
		facts->include_args = part->copy.facts.include_args;
}

/* ---- texts ------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* What is not the same in all of them is not known of the whole. */
static void merge_machine(struct recording_facts *facts, const struct recording_facts *other)
{
	if (!is_same_text(facts->version, other->version))
		facts->version = NULL;
	if (!is_same_text(facts->oscpu, other->oscpu))
		facts->oscpu = NULL;
	if (!is_same_text(facts->cpu_name, other->cpu_name))
		facts->cpu_name = NULL;
	if (facts->physical_cpus != other->physical_cpus)
		facts->physical_cpus = 0;
	if (facts->logical_cpus != other->logical_cpus)
		facts->logical_cpus = 0;
	if (facts->duration_s < other->duration_s || facts->duration_s > other->duration_s)
		facts->duration_s = 0;
}

static int add_to_list(struct names *list, const char *text)
{
	size_t i;

	for (i = 0; i + 1 < list->count; i++)
		if (!strcmp(list->items[i], text))
			return 0;
	if (array_reserve((void **)&list->items, &list->capacity, list->count + 2,
			  sizeof(*list->items)))
		return -ENOMEM;
	if (list->count)
		list->count--;
	list->items[list->count++] = text;
	list->items[list->count++] = NULL;
	return 0;
}

static int merge_list(struct names *list, const char *const *items)
{
	int err = 0;

	for (; items && *items && !err; items++)
		err = add_to_list(list, *items);
	return err;
}

/* "hot, threads": what the parts are called, each once. */
static void merge_title(struct merged_facts *merged)
{
	size_t i, k, used = 0;

	for (i = 0; i < merged->count && used < TITLE_BYTES; i++) {
		const char *product = merged->items[i]->copy.facts.product;

		for (k = 0; k < i; k++)
			if (is_same_text(product, merged->items[k]->copy.facts.product))
				break;
		if (k < i || !product)
			continue;
		used += (size_t)snprintf(merged->title + used, TITLE_BYTES - used, "%s%s",
					 used ? ", " : "", product);
	}
	if (used)
		merged->facts.product = merged->title;
}

/* ---- the log ----------------------------------------------------------------------- */

static bool is_same_recording(const struct recording_facts *a, const struct recording_facts *b)
{
	if (!merged_facts_same_clock(a, b))
		return false;
	return !a->boot_id || (a->began_ns && a->began_ns == b->began_ns);
}

/* Whether a later raw capture of the same recording says more: its counters went on. */
static bool is_superseded(const struct merged_facts *merged, size_t index)
{
	const struct part *part = merged->items[index];
	size_t i;

	for (i = 0; i < merged->count; i++) {
		const struct part *other = merged->items[i];

		if (i != index && is_same_recording(&part->copy.facts, &other->copy.facts) &&
		    (other->end_ns > part->end_ns || (other->end_ns == part->end_ns && i > index)))
			return true;
	}
	return false;
}

static void merge_losses(struct merged_facts *merged, const struct part *part)
{
	const struct recording_facts *facts = &part->copy.facts;
	size_t i;

	for (i = 0; i < facts->loss_count; i++) {
		struct loss loss = facts->losses[i];

		loss.from_ns = moved(loss.from_ns, part->later_ns);
		loss.to_ns = moved(loss.to_ns, part->later_ns);
		losses_add(&merged->losses, &loss);
	}
	merged->facts.losses = merged->losses.items;
	merged->facts.loss_count = merged->losses.count;
}

static int merge_log(struct merged_facts *merged)
{
	const struct recording_facts **all = calloc(merged->count, sizeof(*all));
	size_t i;
	int err = all ? 0 : -ENOMEM;

	fact_list_clear(&merged->log);
	merged->losses.count = 0;
	for (i = 0; i < merged->count && !err; i++) {
		all[i] = &merged->items[i]->copy.facts;
		if (is_superseded(merged, i))
			continue;
		merge_losses(merged, merged->items[i]);
		err = merged_log_add(&merged->log, all[i]);
	}
	if (!err)
		merged_log_finish(&merged->log, all, merged->count);
	free(all);
	merged->facts.log = merged->log.items;
	merged->facts.log_count = merged->log.count;
	return err;
}

size_t merged_facts_count(const struct merged_facts *merged)
{
	return merged->count;
}

struct recording_part merged_facts_part(const struct merged_facts *merged, size_t index)
{
	return (struct recording_part){merged->items[index]->name,
				       &merged->items[index]->copy.facts};
}

static int list_parts(struct merged_facts *merged)
{
	size_t i;

	free(merged->parts);
	merged->parts = calloc(merged->count, sizeof(*merged->parts));
	if (!merged->parts)
		return -ENOMEM;
	for (i = 0; i < merged->count; i++)
		merged->parts[i] = merged_facts_part(merged, i);
	merged->facts.parts = merged->parts;
	merged->facts.part_count = merged->count;
	return 0;
}

/* ---- all of it --------------------------------------------------------------------- */

bool merged_facts_same_clock(const struct recording_facts *a, const struct recording_facts *b)
{
	if (a->boot_id || b->boot_id)
		return a->boot_id && b->boot_id && !strcmp(a->boot_id, b->boot_id);
	/* Two clocks were read at once: to the nanosecond, no other recording found them so far apart. */
	return a->start_real_ns - a->start_ns == b->start_real_ns - b->start_ns;
}

static bool has_name(const struct merged_facts *merged, const char *name)
{
	size_t i;

	for (i = 0; i < merged->count; i++)
		if (!strcmp(merged->items[i]->name, name))
			return true;
	return !strcmp(name, "geckobpf");
}

/* The same file may be given twice. */
static int name_part(const struct merged_facts *merged, struct part *part, const char *name)
{
	size_t size = strlen(name) + 24, number = 2;

	part->name = malloc(size);
	if (!part->name)
		return -ENOMEM;
	snprintf(part->name, size, "%s", name);
	while (has_name(merged, part->name))
		snprintf(part->name, size, "%s (%zu)", name, number++);
	return 0;
}

int merged_facts_add(struct merged_facts *merged, const struct recording_facts *facts,
		     const char *name, uint64_t later_ns)
{
	struct part *part;
	int err;

	if (ARRAY_ROOM(merged))
		return -ENOMEM;
	part = calloc(1, sizeof(*part));
	if (!part)
		return -ENOMEM;
	part->later_ns = later_ns;
	part->start_ns = moved(facts->start_ns, later_ns);
	part->end_ns = moved(facts->end_ns, later_ns);
	part->until_ns = facts->until_ns ? moved(facts->until_ns, later_ns) : 0;
	err = facts_copy_make(&part->copy, facts);
	if (!err)
		err = name_part(merged, part, name);
	if (!err)
		err = collect_pauses(part, later_ns);
	if (err) {
		close_part(part);
		return err;
	}
	merged->items[merged->count++] = part;
	return 0;
}

int merged_facts_get(struct merged_facts *merged, const struct recording_facts **out)
{
	size_t i;
	int err = 0;

	merged->threads.count = merged->features.count = 0;
	merged->pauses.count = 0;
	merged->facts = merged->items[0]->copy.facts;
	*out = &merged->facts;
	if (merged->count == 1)
		return 0;
	for (i = 1; i < merged->count; i++) {
		merge_times(merged, merged->items[i]);
		merge_machine(&merged->facts, &merged->items[i]->copy.facts);
	}
	for (i = 0; i < merged->count && !err; i++) {
		err = merge_list(&merged->threads, merged->items[i]->copy.facts.threads);
		if (!err)
			err = merge_list(&merged->features, merged->items[i]->copy.facts.features);
	}
	merged->facts.threads = merged->threads.items;
	merged->facts.features = merged->features.items;
	merge_title(merged);
	if (!err)
		err = merge_pauses(merged);
	if (!err)
		err = merge_log(merged);
	return err ? err : list_parts(merged);
}
