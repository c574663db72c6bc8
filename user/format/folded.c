/* SPDX-License-Identifier: BSD-2-Clause */
/* folded.c - see folded.h. Threads are sorted by names, and those of the same ones written as one. */
#include "format/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "format/stack_profile.h"
#include "format/text_out.h"

#define SEPARATOR ';'

struct names {
	uint32_t process, thread; /* texts */
	uint32_t number; /* of the thread */
};

struct folder {
	const struct stack_profile *profile;
	bool by_cpu;
	FILE *out;
	struct stack_counts counts; /* of the threads that have the same names */
	struct {
		uint32_t *items;
		size_t count, capacity;
	} path; /* functions, leaf first */
};

static bool is_same(const struct names *left, const struct names *right)
{
	return left->process == right->process && left->thread == right->thread;
}

static int compare_names(const void *a, const void *b)
{
	const struct names *left = a, *right = b;

	if (left->process != right->process)
		return left->process < right->process ? -1 : 1;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static struct names *sort_threads(const struct stack_profile *profile)
{
	/* One more, so that none is not an allocation of 0 bytes. */
	struct names *names = calloc(profile->threads.count + 1, sizeof(*names));
	size_t i;

	for (i = 0; names && i < profile->threads.count; i++) {
		const struct stack_thread *thread = &profile->threads.items[i];

		names[i] = (struct names){
			.process = profile->processes.items[thread->process].name,
			.thread = thread->name,
			.number = (uint32_t)i,
		};
	}
	if (names)
		qsort(names, profile->threads.count, sizeof(*names), compare_names);
	return names;
}

static int collect_path(struct folder *folder, uint32_t stack)
{
	int err = 0;

	folder->path.count = 0;
	while (!err && stack != STACK_NONE) {
		struct stack at = stack_profile_stack(folder->profile, stack);

		err = ARRAY_ROOM(&folder->path);
		if (!err)
			folder->path.items[folder->path.count++] = at.function;
		stack = at.prefix;
	}
	return err;
}

static int write_line(struct folder *folder, const struct names *names,
		      const struct stack_count *count)
{
	uint64_t value = folder->by_cpu ? (count->cpu_ns + 500) / 1000 : count->samples;
	size_t i;
	int err;

	if (!value)
		return 0;
	err = collect_path(folder, count->stack);
	if (err)
		return err;
	text_out(folder->out, stack_profile_text(folder->profile, names->process), SEPARATOR);
	putc_unlocked(SEPARATOR, folder->out);
	text_out(folder->out, stack_profile_text(folder->profile, names->thread), SEPARATOR);
	for (i = folder->path.count; i-- > 0;) {
		putc_unlocked(SEPARATOR, folder->out);
		text_out_function(folder->out, folder->profile, folder->path.items[i], SEPARATOR);
	}
	fprintf(folder->out, " %" PRIu64 "\n", value);
	return 0;
}

static int add_counts(struct folder *folder, const struct stack_counts *more)
{
	size_t i;
	int err = 0;

	for (i = 0; i < more->count && !err; i++) {
		err = ARRAY_ROOM(&folder->counts);
		if (!err)
			folder->counts.items[folder->counts.count++] = more->items[i];
	}
	return err;
}

/* The threads from `names` on that have the same ones, before `end`. *names is then at the first of others. */
static int write_group(struct folder *folder, const struct names **names, const struct names *end)
{
	const struct names *first = *names, *at;
	size_t i;
	int err = 0;

	folder->counts.count = 0;
	for (at = first; at < end && is_same(first, at) && !err; at++)
		err = add_counts(folder, &folder->profile->threads.items[at->number].counts);
	stack_counts_merge(&folder->counts);
	for (i = 0; i < folder->counts.count && !err; i++)
		err = write_line(folder, first, &folder->counts.items[i]);
	*names = at;
	return err;
}

int folded_write(const struct stack_profile *profile, bool by_cpu, FILE *out)
{
	struct folder folder = {.profile = profile, .by_cpu = by_cpu, .out = out};
	struct names *names = sort_threads(profile);
	const struct names *at = names;
	int err = names ? 0 : -ENOMEM;

	while (!err && at < names + profile->threads.count)
		err = write_group(&folder, &at, names + profile->threads.count);
	free(names);
	free(folder.counts.items);
	free(folder.path.items);
	return err ? err : text_out_flush(out);
}
