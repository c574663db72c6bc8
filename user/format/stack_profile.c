/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_profile.c - see stack_profile.h. Functions and stacks are interned as the bytes of their structs. */
#include "format/stack_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/intern.h"

#define NO_STACK_NAME "(no stack)"

static int add_no_stack(struct stack_profile *profile)
{
	uint32_t function, stack;
	int err = stack_profile_add_function(profile, NO_STACK_NAME, strlen(NO_STACK_NAME),
					     &function);

	return err ? err : stack_profile_add_stack(profile, STACK_NONE, function, &stack);
}

int stack_profile_open(struct stack_profile **out)
{
	struct stack_profile *profile = calloc(1, sizeof(*profile));
	int err;

	if (!profile)
		return -ENOMEM;
	err = intern_open(&profile->texts);
	if (!err)
		err = intern_open(&profile->functions);
	if (!err)
		err = intern_open(&profile->stacks);
	if (!err)
		err = add_no_stack(profile);
	if (err) {
		stack_profile_close(profile);
		return err;
	}
	*out = profile;
	return 0;
}

void stack_profile_close(struct stack_profile *profile)
{
	size_t i;

	if (!profile)
		return;
	for (i = 0; i < profile->threads.count; i++)
		free(profile->threads.items[i].counts.items);
	free(profile->threads.items);
	free(profile->processes.items);
	free(profile->sources.items);
	intern_close(profile->stacks);
	intern_close(profile->functions);
	intern_close(profile->texts);
	free(profile);
}

/* ---- loading ---------------------------------------------------------------------- */

int stack_profile_add_text(struct stack_profile *profile, const char *text, size_t length,
			   uint32_t *id)
{
	return intern_add(profile->texts, text, length, id);
}

int stack_profile_add_source(struct stack_profile *profile, const struct stack_source *source)
{
	int err = ARRAY_ROOM(&profile->sources);

	if (!err)
		profile->sources.items[profile->sources.count++] = *source;
	return err;
}

void stack_source_add_fact(struct stack_source *source, const char *name, uint64_t value)
{
	/* So that a sum of many does not overflow. */
	value &= UINT64_MAX >> 16;
	if (!strncmp(name, "samples_lost", 12))
		source->samples_lost += value;
	else if (strstr(name, "_lost_"))
		source->events_lost += value;
	else if (!strcmp(name, "samples_overwritten"))
		source->samples_overwritten = value;
	else if (!strcmp(name, "timer_ticks"))
		source->ticks = value;
	else if (!strcmp(name, "timer_ticks_missed"))
		source->ticks_missed = value;
}

void stack_source_add_text(struct stack_source *source, const char *name, const char *text)
{
	static const char option[] = "--ring";
	const char *at = strcmp(name, "options") ? NULL : strstr(text, option);

	if (at && (at == text || at[-1] == ' ') && strchr(" ", at[sizeof(option) - 1]))
		source->is_ring = true;
}

bool stack_source_has_losses(const struct stack_source *source)
{
	return source->samples_lost || source->events_lost ||
	       (source->samples_overwritten && !source->is_ring);
}

int stack_profile_add_process(struct stack_profile *profile, const struct stack_process *process)
{
	struct stack_process *added;
	int err = ARRAY_ROOM(&profile->processes);

	if (err)
		return err;
	added = &profile->processes.items[profile->processes.count++];
	*added = *process;
	added->source = (uint32_t)profile->sources.count - 1;
	return 0;
}

int stack_profile_add_thread(struct stack_profile *profile, const struct stack_thread *thread)
{
	struct stack_thread *added;
	int err = ARRAY_ROOM(&profile->threads);

	if (err)
		return err;
	added = &profile->threads.items[profile->threads.count++];
	*added = *thread;
	added->process = (uint32_t)profile->processes.count - 1;
	added->counts = (struct stack_counts){0};
	return 0;
}

/* Where " (in lib)" begins, whose lib has no ')'; `length` if the text does not end so. */
static size_t find_lib(const char *text, size_t length)
{
	static const char before[] = " (in ";
	const size_t before_length = sizeof(before) - 1;
	size_t at;

	if (length < before_length + 1 || text[length - 1] != ')')
		return length;
	for (at = length - 1 - before_length;; at--) {
		if (!memcmp(text + at, before, before_length))
			return at;
		if (!at || text[at + before_length - 1] == ')')
			return length;
	}
}

int stack_profile_add_function(struct stack_profile *profile, const char *text, size_t length,
			       uint32_t *function)
{
	size_t at = find_lib(text, length);
	struct stack_function key = {.lib = STACK_NONE};
	int err = intern_add(profile->texts, text, at, &key.name);

	if (!err && at < length)
		err = intern_add(profile->texts, text + at + 5, length - at - 6, &key.lib);
	if (err)
		return err;
	return intern_add(profile->functions, (const char *)&key, sizeof(key), function);
}

int stack_profile_add_stack(struct stack_profile *profile, uint32_t prefix, uint32_t function,
			    uint32_t *stack)
{
	const struct stack key = {.prefix = prefix, .function = function};

	return intern_add(profile->stacks, (const char *)&key, sizeof(key), stack);
}

int stack_profile_add_count(struct stack_profile *profile, const struct stack_count *count)
{
	struct stack_counts *counts = &profile->threads.items[profile->threads.count - 1].counts;
	int err = ARRAY_ROOM(counts);

	if (!err)
		counts->items[counts->count++] = *count;
	return err;
}

void stack_profile_end_thread(struct stack_profile *profile)
{
	stack_counts_merge(&profile->threads.items[profile->threads.count - 1].counts);
}

static int compare_counts(const void *a, const void *b)
{
	const struct stack_count *left = a, *right = b;

	return left->stack < right->stack ? -1 : left->stack > right->stack;
}

void stack_counts_merge(struct stack_counts *counts)
{
	size_t i, kept = 0;

	if (counts->count < 2)
		return;
	qsort(counts->items, counts->count, sizeof(*counts->items), compare_counts);
	for (i = 1; i < counts->count; i++) {
		struct stack_count *last = &counts->items[kept];

		if (counts->items[i].stack != last->stack) {
			counts->items[++kept] = counts->items[i];
			continue;
		}
		last->samples += counts->items[i].samples;
		last->cpu_ns += counts->items[i].cpu_ns;
	}
	counts->count = kept + 1;
}

/* ---- reading ---------------------------------------------------------------------- */

const char *stack_profile_text(const struct stack_profile *profile, uint32_t id)
{
	return intern_text(profile->texts, id, NULL);
}

struct stack_function stack_profile_function(const struct stack_profile *profile, uint32_t id)
{
	struct stack_function function;

	memcpy(&function, intern_text(profile->functions, id, NULL), sizeof(function));
	return function;
}

struct stack stack_profile_stack(const struct stack_profile *profile, uint32_t id)
{
	struct stack stack;

	memcpy(&stack, intern_text(profile->stacks, id, NULL), sizeof(stack));
	return stack;
}

uint32_t stack_profile_function_count(const struct stack_profile *profile)
{
	return intern_count(profile->functions);
}

const struct stack_source *stack_profile_source_of(const struct stack_profile *profile,
						   const struct stack_thread *thread)
{
	return &profile->sources.items[profile->processes.items[thread->process].source];
}
