/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hot_list.c - see hot_list.h.
 *
 * Every count goes up its stack once and is added to each function it meets; a function remembers the last count that
 * was added to it, so that recursion does not count twice.
 */
#include "format/hot_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/stack_profile.h"

struct maker {
	struct hot_list *list;
	const struct stack_profile *profile;
	enum hot_key key;
	uint64_t *seen; /* by function: number of the last count that met it */
	uint64_t count_number;
};

static void add(struct hot_sum *sum, const struct hot_sum *more)
{
	sum->samples += more->samples;
	sum->cpu_ns += more->cpu_ns;
	sum->wall_ns += more->wall_ns;
}

static void add_to_functions(struct maker *maker, uint32_t leaf, const struct hot_sum *sum)
{
	struct stack stack = stack_profile_stack(maker->profile, leaf);
	struct hot_row *rows = maker->list->items;

	maker->count_number++;
	add(&rows[stack.function].self, sum);
	for (;;) {
		if (maker->seen[stack.function] != maker->count_number)
			add(&rows[stack.function].total, sum);
		maker->seen[stack.function] = maker->count_number;
		if (stack.prefix == STACK_NONE)
			break;
		stack = stack_profile_stack(maker->profile, stack.prefix);
	}
}

static void add_count(struct maker *maker, size_t thread, const struct stack_count *count,
		      const struct hot_sum *sum)
{
	uint32_t process = maker->profile->threads.items[thread].process;
	struct hot_row *row;

	add(&maker->list->sum, sum);
	if (count->stack == STACK_OF_NONE)
		maker->list->no_stack_cpu_ns += count->cpu_ns;
	if (maker->key == HOT_FUNCTION) {
		add_to_functions(maker, count->stack, sum);
		return;
	}
	row = &maker->list->items[maker->key == HOT_THREAD ? thread : process];
	add(&row->self, sum);
	add(&row->total, sum);
}

static void add_thread(struct maker *maker, size_t number)
{
	const struct stack_thread *thread = &maker->profile->threads.items[number];
	uint64_t interval_ns = stack_profile_source_of(maker->profile, thread)->interval_ns;
	size_t i;

	for (i = 0; i < thread->counts.count; i++) {
		const struct stack_count *count = &thread->counts.items[i];
		const struct hot_sum sum = {
			.samples = count->samples,
			.cpu_ns = count->cpu_ns,
			.wall_ns = count->samples * interval_ns,
		};

		add_count(maker, number, count, &sum);
	}
}

static void add_scope(struct maker *maker, const struct hot_scope *scope)
{
	size_t i;

	for (i = 0; i < maker->profile->threads.count; i++) {
		if (scope->thread != STACK_NONE && scope->thread != i)
			continue;
		if (scope->process != STACK_NONE &&
		    scope->process != maker->profile->threads.items[i].process)
			continue;
		add_thread(maker, i);
	}
}

static size_t key_count(const struct stack_profile *profile, enum hot_key key)
{
	switch (key) {
	case HOT_THREAD:
		return profile->threads.count;
	case HOT_PROCESS:
		return profile->processes.count;
	case HOT_FUNCTION:
		break;
	}
	return stack_profile_function_count(profile);
}

static int compare_numbers(uint64_t left, uint64_t right)
{
	return left > right ? -1 : left < right;
}

static int compare_rows(const void *a, const void *b)
{
	const struct hot_row *left = a, *right = b;
	int order = compare_numbers(left->self.samples, right->self.samples);

	if (!order)
		order = compare_numbers(left->total.samples, right->total.samples);
	if (!order)
		order = compare_numbers(left->total.cpu_ns, right->total.cpu_ns);
	return order ? order : -compare_numbers(left->key, right->key);
}

static void keep_used(struct hot_list *list)
{
	size_t i, kept = 0;

	for (i = 0; i < list->count; i++)
		if (list->items[i].total.samples || list->items[i].total.cpu_ns)
			list->items[kept++] = list->items[i];
	list->count = kept;
}

int hot_list_make(struct hot_list *list, const struct stack_profile *profile, enum hot_key key,
		  const struct hot_scope *scope)
{
	struct maker maker = {.list = list, .profile = profile, .key = key};
	size_t count = key_count(profile, key), i;

	/* One more, so that none is not an allocation of 0 bytes. */
	list->items = calloc(count + 1, sizeof(*list->items));
	maker.seen = calloc(count + 1, sizeof(*maker.seen));
	if (!list->items || !maker.seen) {
		free(maker.seen);
		hot_list_clear(list);
		return -ENOMEM;
	}
	list->count = list->capacity = count;
	for (i = 0; i < count; i++)
		list->items[i].key = (uint32_t)i;
	add_scope(&maker, scope);
	free(maker.seen);
	keep_used(list);
	qsort(list->items, list->count, sizeof(*list->items), compare_rows);
	return 0;
}

void hot_list_clear(struct hot_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}
