/* SPDX-License-Identifier: BSD-2-Clause */
/* merged_facts.c - see merged_facts.h. */
#include "cmd/merged_facts.h"

#include "base/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 256

struct texts {
	char **items;
	size_t count, capacity;
};

struct lists {
	const char **items;
	size_t count, capacity;
};

struct pauses {
	struct time_range *items;
	size_t count, capacity;
};

struct log {
	struct recording_fact *items;
	size_t count, capacity;
};

/* One recording; its name, strings and arrays are in `owned`, and times are in the clock of the first one but for facts. */
struct part {
	struct recording_facts facts;
	char *name;
	uint64_t start_ns, end_ns, until_ns;
	struct pauses pauses;
};

struct merged_facts {
	struct part **items;
	size_t count, capacity;
	struct {
		void **items;
		size_t count, capacity;
	} owned;
	struct lists threads, features;
	struct pauses pauses;
	struct log log;
	struct recording_part *parts;
	struct recording_facts facts;
	char title[TITLE_BYTES];
};

int merged_facts_open(struct merged_facts **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void merged_facts_close(struct merged_facts *merged)
{
	size_t i;

	if (!merged)
		return;
	for (i = 0; i < merged->count; i++) {
		free(merged->items[i]->pauses.items);
		free(merged->items[i]);
	}
	for (i = 0; i < merged->owned.count; i++)
		free(merged->owned.items[i]);
	free(merged->owned.items);
	free(merged->items);
	free(merged->threads.items);
	free(merged->features.items);
	free(merged->pauses.items);
	free(merged->log.items);
	free(merged->parts);
	free(merged);
}

/* ---- copies ------------------------------------------------------------------------ */

/* `memory` is freed at the end, or now without memory to remember it. NULL: no memory. */
static void *own(struct merged_facts *merged, void *memory)
{
	if (!memory || ARRAY_ROOM(&merged->owned)) {
		free(memory);
		return NULL;
	}
	merged->owned.items[merged->owned.count++] = memory;
	return memory;
}

static int copy_text(struct merged_facts *merged, const char **text)
{
	if (!*text)
		return 0;
	*text = own(merged, strdup(*text));
	return *text ? 0 : -ENOMEM;
}

static int copy_list(struct merged_facts *merged, const char *const **list)
{
	const char **copy;
	size_t count = 0, i;
	int err = 0;

	while (*list && (*list)[count])
		count++;
	copy = own(merged, calloc(count + 1, sizeof(*copy)));
	if (!copy)
		return -ENOMEM;
	for (i = 0; i < count && !err; i++) {
		copy[i] = (*list)[i];
		err = copy_text(merged, &copy[i]);
	}
	*list = copy;
	return err;
}

static int copy_log(struct merged_facts *merged, struct recording_facts *facts)
{
	struct recording_fact *copy =
		own(merged, calloc(facts->log_count + 1, sizeof(struct recording_fact)));
	size_t i;
	int err = copy ? 0 : -ENOMEM;

	for (i = 0; i < facts->log_count && !err; i++) {
		copy[i] = facts->log[i];
		err = copy_text(merged, &copy[i].name);
		if (!err)
			err = copy_text(merged, &copy[i].text);
	}
	facts->log = copy;
	return err;
}

static int copy_pauses(struct merged_facts *merged, struct recording_facts *facts)
{
	struct time_range *copy =
		own(merged, calloc(facts->pause_count + 1, sizeof(struct time_range)));

	if (!copy)
		return -ENOMEM;
	if (facts->pause_count)
		memcpy(copy, facts->pauses, facts->pause_count * sizeof(*copy));
	facts->pauses = copy;
	return 0;
}

static int copy_facts(struct merged_facts *merged, struct recording_facts *facts)
{
	const char **const texts[] = {&facts->product, &facts->version, &facts->oscpu,
				      &facts->cpu_name, &facts->boot_id};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = copy_text(merged, texts[i]);
	if (!err)
		err = copy_list(merged, &facts->threads);
	if (!err)
		err = copy_list(merged, &facts->features);
	if (!err)
		err = copy_pauses(merged, facts);
	return err ? err : copy_log(merged, facts);
}

/* ---- time -------------------------------------------------------------------------- */

static uint64_t moved(uint64_t time_ns, uint64_t later_ns)
{
	int64_t sum = (int64_t)(time_ns + later_ns);

	return sum > 0 ? (uint64_t)sum : 0;
}

static int add_pause(struct pauses *pauses, uint64_t start_ns, uint64_t end_ns)
{
	struct time_range *last = pauses->count ? &pauses->items[pauses->count - 1] : NULL;

	if (start_ns >= end_ns)
		return 0;
	if (last && last->end_ns == start_ns) {
		last->end_ns = end_ns;
		return 0;
	}
	if (ARRAY_ROOM(pauses))
		return -ENOMEM;
	pauses->items[pauses->count++] = (struct time_range){start_ns, end_ns};
	return 0;
}

/* When it took no samples, from the beginning of time to its end, in order. */
static int collect_pauses(struct part *part, uint64_t later_ns)
{
	uint64_t reached_ns = part->start_ns;
	size_t i;
	int err = add_pause(&part->pauses, 0, part->start_ns);

	for (i = 0; i < part->facts.pause_count && !err; i++) {
		uint64_t start_ns = moved(part->facts.pauses[i].start_ns, later_ns);
		uint64_t end_ns = part->facts.pauses[i].end_ns;

		end_ns = end_ns ? moved(end_ns, later_ns) : part->end_ns;
		if (start_ns < reached_ns)
			start_ns = reached_ns;
		if (end_ns > part->end_ns)
			end_ns = part->end_ns;
		err = add_pause(&part->pauses, start_ns, end_ns);
		if (end_ns > reached_ns)
			reached_ns = end_ns;
	}
	return err ? err : add_pause(&part->pauses, part->end_ns, UINT64_MAX);
}

/* What is in both, in order as these are. */
static int intersect(const struct pauses *a, const struct pauses *b, struct pauses *out)
{
	size_t i = 0, k = 0;
	int err = 0;

	while (i < a->count && k < b->count && !err) {
		const struct time_range *x = &a->items[i], *y = &b->items[k];

		err = add_pause(out, x->start_ns > y->start_ns ? x->start_ns : y->start_ns,
				x->end_ns < y->end_ns ? x->end_ns : y->end_ns);
		if (x->end_ns < y->end_ns)
			i++;
		else
			k++;
	}
	return err;
}

static int merge_pauses(struct merged_facts *merged)
{
	size_t i;
	int err = add_pause(&merged->pauses, merged->facts.start_ns, merged->facts.end_ns);

	for (i = 0; i < merged->count && !err; i++) {
		struct pauses both = {0};

		err = intersect(&merged->pauses, &merged->items[i]->pauses, &both);
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
	if (part->facts.interval_ns < facts->interval_ns)
		facts->interval_ns = part->facts.interval_ns;
	if (part->facts.buffer_bytes > facts->buffer_bytes)
		facts->buffer_bytes = part->facts.buffer_bytes;
	if (part->facts.include_args > facts->include_args)
		facts->include_args = part->facts.include_args;
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

static int add_to_list(struct lists *list, const char *text)
{
	size_t i;

	/* The last one is the NULL behind them. */
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

static int merge_list(struct lists *list, const char *const *items)
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
		const char *product = merged->items[i]->facts.product;

		for (k = 0; k < i; k++)
			if (is_same_text(product, merged->items[k]->facts.product))
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

/* Whether a later capture of the same recording says more: its counters went on. */
static bool is_superseded(const struct merged_facts *merged, size_t index)
{
	const struct part *part = merged->items[index];
	size_t i;

	for (i = 0; i < merged->count; i++) {
		const struct part *other = merged->items[i];

		if (i != index && is_same_recording(&part->facts, &other->facts) &&
		    (other->end_ns > part->end_ns || (other->end_ns == part->end_ns && i > index)))
			return true;
	}
	return false;
}

/* Settings do not add up. */
static bool is_setting(const struct recording_fact *fact)
{
	return fact->text || !strcmp(fact->name, "period_ns") ||
	       !strcmp(fact->name, "sampling_rate_hz");
}

static bool is_same_fact(const struct recording_fact *a, const struct recording_fact *b)
{
	return a->value == b->value && is_same_text(a->text, b->text);
}

static struct recording_fact *find_fact(const struct recording_fact *facts, size_t count,
					const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(facts[i].name, name))
			return (struct recording_fact *)&facts[i];
	return NULL;
}

static int merge_fact(struct log *log, const struct recording_fact *fact)
{
	struct recording_fact *known = find_fact(log->items, log->count, fact->name);

	if (!known) {
		if (ARRAY_ROOM(log))
			return -ENOMEM;
		log->items[log->count++] = *fact;
	} else if (!is_setting(fact) && !known->text) {
		known->value += fact->value;
	}
	return 0;
}

/* A setting that is another one in another part, or is not there, is not one of the whole. */
static bool is_common(const struct merged_facts *merged, const struct recording_fact *fact)
{
	size_t i;

	if (!is_setting(fact))
		return true;
	for (i = 0; i < merged->count; i++) {
		const struct recording_facts *facts = &merged->items[i]->facts;
		const struct recording_fact *other =
			find_fact(facts->log, facts->log_count, fact->name);

		if (!other || !is_same_fact(other, fact))
			return false;
	}
	return true;
}

static int merge_log(struct merged_facts *merged)
{
	struct log *log = &merged->log;
	size_t i, k, kept = 0;
	int err = 0;

	for (i = 0; i < merged->count && !err; i++) {
		const struct recording_facts *facts = &merged->items[i]->facts;

		if (is_superseded(merged, i))
			continue;
		for (k = 0; k < facts->log_count && !err; k++)
			err = merge_fact(log, &facts->log[k]);
	}
	for (i = 0; i < log->count; i++)
		if (is_common(merged, &log->items[i]))
			log->items[kept++] = log->items[i];
	merged->facts.log = log->items;
	merged->facts.log_count = kept;
	return err;
}

size_t merged_facts_count(const struct merged_facts *merged)
{
	return merged->count;
}

struct recording_part merged_facts_part(const struct merged_facts *merged, size_t index)
{
	return (struct recording_part){merged->items[index]->name, &merged->items[index]->facts};
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
static int name_part(struct merged_facts *merged, struct part *part, const char *name)
{
	size_t size = strlen(name) + 24, number = 2;

	part->name = own(merged, malloc(size));
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
	part->facts = *facts;
	part->start_ns = moved(facts->start_ns, later_ns);
	part->end_ns = moved(facts->end_ns, later_ns);
	part->until_ns = facts->until_ns ? moved(facts->until_ns, later_ns) : 0;
	err = copy_facts(merged, &part->facts);
	if (!err)
		err = name_part(merged, part, name);
	if (!err)
		err = collect_pauses(part, later_ns);
	if (err) {
		free(part->pauses.items);
		free(part);
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
	merged->pauses.count = merged->log.count = 0;
	merged->facts = merged->items[0]->facts;
	*out = &merged->facts;
	if (merged->count == 1)
		return 0;
	for (i = 1; i < merged->count; i++) {
		merge_times(merged, merged->items[i]);
		merge_machine(&merged->facts, &merged->items[i]->facts);
	}
	for (i = 0; i < merged->count && !err; i++) {
		err = merge_list(&merged->threads, merged->items[i]->facts.threads);
		if (!err)
			err = merge_list(&merged->features, merged->items[i]->facts.features);
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
