/* SPDX-License-Identifier: BSD-2-Clause */
/* time_ranges.c - see time_ranges.h. */
#include "recording/time_ranges.h"

#include "base/array.h"

#include <errno.h>

int time_ranges_add(struct time_ranges *ranges, uint64_t start_ns, uint64_t end_ns)
{
	struct time_range *last = ranges->count ? &ranges->items[ranges->count - 1] : NULL;

	if (start_ns >= end_ns)
		return 0;
	if (last && last->end_ns == start_ns) {
		last->end_ns = end_ns;
		return 0;
	}
	if (ARRAY_ROOM(ranges))
		return -ENOMEM;
	ranges->items[ranges->count++] = (struct time_range){start_ns, end_ns};
	return 0;
}

int time_ranges_intersect(const struct time_ranges *a, const struct time_ranges *b,
			  struct time_ranges *out)
{
	size_t i = 0, k = 0;
	int err = 0;

	while (i < a->count && k < b->count && !err) {
		const struct time_range *x = &a->items[i], *y = &b->items[k];

		err = time_ranges_add(out, x->start_ns > y->start_ns ? x->start_ns : y->start_ns,
				      x->end_ns < y->end_ns ? x->end_ns : y->end_ns);
		if (x->end_ns < y->end_ns)
			i++;
		else
			k++;
	}
	return err;
}
