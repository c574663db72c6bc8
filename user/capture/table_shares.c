/* SPDX-License-Identifier: BSD-2-Clause */
/* table_shares.c - see table_shares.h. */
#include "capture/table_shares.h"

#include <stdlib.h>

#define ROOT 0
#define WHOLE 1000000

uint64_t table_shares_of(const struct table_store_size *size, const struct table_store_size *limits)
{
	const uint64_t parts[] = {
		limits->rows ? size->rows * WHOLE / limits->rows : 0,
		limits->pages ? size->pages * WHOLE / limits->pages : 0,
		limits->rules ? size->rules * WHOLE / limits->rules : 0,
	};
	uint64_t largest = parts[0];

	largest = parts[1] > largest ? parts[1] : largest;
	return parts[2] > largest ? parts[2] : largest;
}

static void add(struct table_store_size *sum, const struct table_store_size *size)
{
	sum->rows += size->rows;
	sum->pages += size->pages;
	sum->rules += size->rules;
}

static int by_owner(const void *left, const void *right)
{
	const struct table_holding *a = left, *b = right;

	return (a->owner > b->owner) - (a->owner < b->owner);
}

/* What the owner of `wanted` would have with it. */
static uint64_t share_with(const struct table_holding *holdings, size_t count,
			   const struct table_holding *wanted,
			   const struct table_store_size *limits)
{
	struct table_store_size sum = wanted->size;
	size_t i;

	for (i = 0; i < count; i++)
		if (holdings[i].owner == wanted->owner)
			add(&sum, &holdings[i].size);
	return table_shares_of(&sum, limits);
}

/* Of `count` tables of one owner. */
static const struct table_holding *largest(const struct table_holding *holdings, size_t count,
					   const struct table_store_size *limits)
{
	const struct table_holding *found = holdings;
	uint64_t most = 0, each;
	size_t i;

	for (i = 0; i < count; i++) {
		each = table_shares_of(&holdings[i].size, limits) / (holdings[i].users + 1ULL);
		if (each > most) {
			most = each;
			found = &holdings[i];
		}
	}
	return found;
}

const struct table_holding *table_shares_choose(struct table_holding *holdings, size_t count,
						const struct table_holding *wanted,
						const struct table_store_size *limits)
{
	uint64_t most = share_with(holdings, count, wanted, limits), share;
	const struct table_holding *found = NULL;
	struct table_store_size sum;
	size_t first, next;

	qsort(holdings, count, sizeof(*holdings), by_owner);
	for (first = 0; first < count; first = next) {
		sum = (struct table_store_size){0};
		for (next = first; next < count && holdings[next].owner == holdings[first].owner;
		     next++)
			add(&sum, &holdings[next].size);
		share = table_shares_of(&sum, limits);
		if (holdings[first].owner == ROOT || holdings[first].owner == wanted->owner ||
		    share <= most)
			continue;
		most = share;
		found = largest(&holdings[first], next - first, limits);
	}
	return found;
}
