/* SPDX-License-Identifier: BSD-2-Clause */
/* page_runs.c - see page_runs.h. */
#include "unwind/page_runs.h"

#include "base/array.h"
#include "unwind/table_store.h"

#include <errno.h>
#include <string.h>

void page_runs_close(struct page_runs *runs)
{
	free(runs->items);
	*runs = (struct page_runs){0};
}

uint32_t page_runs_end(const struct page_runs *runs)
{
	const struct page_run *last = runs->count ? &runs->items[runs->count - 1] : NULL;

	return last ? last->first + last->count : 0;
}

/* Forgets the runs that nobody can read any more. */
static void forget_old(struct page_runs *runs, uint64_t now_ns)
{
	size_t from, to = 0;

	for (from = 0; from < runs->count; from++) {
		const struct page_run *run = &runs->items[from];

		if (!run->is_given || !table_store_grace_is_over(run->given_ns, now_ns))
			runs->items[to++] = *run;
	}
	runs->count = to;
}

/* The first gap of `count` pages, and before which run it is. False: there is none. */
static bool find_gap(const struct page_runs *runs, uint32_t count, uint32_t *first, size_t *index)
{
	uint32_t begin = 0;
	size_t i;

	for (i = 0; i < runs->count && runs->items[i].first - begin < count; i++)
		begin = runs->items[i].first + runs->items[i].count;
	*first = begin;
	*index = i;
	return i < runs->count || GB_MAX_PAGES - begin >= count;
}

int page_runs_take(struct page_runs *runs, uint32_t count, uint64_t now_ns, uint32_t *first)
{
	size_t index;
	int err;

	forget_old(runs, now_ns);
	if (!find_gap(runs, count, first, &index))
		return -ENOSPC;
	err = ARRAY_ROOM(runs);
	if (err)
		return err;
	memmove(&runs->items[index + 1], &runs->items[index],
		(runs->count - index) * sizeof(runs->items[0]));
	runs->items[index] = (struct page_run){.first = *first, .count = count};
	runs->count++;
	runs->used += count;
	return 0;
}

void page_runs_give(struct page_runs *runs, uint32_t first, uint64_t now_ns)
{
	size_t low = 0, high = runs->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (runs->items[middle].first <= first)
			low = middle;
		else
			high = middle;
	}
	runs->items[low].is_given = true;
	runs->items[low].given_ns = now_ns;
	runs->used -= runs->items[low].count;
}
