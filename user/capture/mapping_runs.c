/* SPDX-License-Identifier: BSD-2-Clause */
/* mapping_runs.c - see mapping_runs.h. */
#include "capture/mapping_runs.h"

#include "base/array.h"
#include "base/clock.h"

#include <errno.h>

#include "geckobpf_abi.h"

#define GRACE_NS NS_PER_SEC
#define MIN_RUN 16u
#define USUAL_CLASS 6 /* 1024 mappings: more than nearly all programs have */
#define MAX_RUN (MIN_RUN << (MAPPING_RUN_CLASSES - 1))

void mapping_runs_close(struct mapping_runs *runs)
{
	size_t i;

	for (i = 0; i < MAPPING_RUN_CLASSES; i++)
		free(runs->free[i].items);
	*runs = (struct mapping_runs){0};
}

static int take_free(struct mapping_runs *runs, uint32_t size_class, uint64_t now_ns,
		     struct mapping_run *out)
{
	struct mapping_run *items = runs->free[size_class].items;
	size_t i;

	for (i = 0; i < runs->free[size_class].count; i++) {
		if (now_ns - items[i].freed_ns < GRACE_NS)
			continue;
		*out = items[i];
		items[i] = items[--runs->free[size_class].count];
		return 0;
	}
	return -ENOENT;
}

int mapping_runs_take(struct mapping_runs *runs, size_t count, uint64_t now_ns,
		      struct mapping_run *out)
{
	uint32_t size_class = 0, left;

	if (count >= MAX_RUN) /* what GB_MAPPING_STEPS can search */
		return -ENOSPC;
	while (MIN_RUN << size_class < count)
		size_class++;
	if (!take_free(runs, size_class, now_ns, out))
		return 0;
	left = GB_MAX_MAPPINGS - runs->top;
	if (MIN_RUN << size_class > (size_class > USUAL_CLASS ? left / 2 : left))
		return -ENOSPC;
	*out = (struct mapping_run){.first = runs->top, .size_class = size_class};
	runs->top += MIN_RUN << size_class;
	return 0;
}

void mapping_runs_give(struct mapping_runs *runs, const struct mapping_run *run, uint64_t now_ns)
{
	struct mapping_run *items;

	if (ARRAY_ROOM(&runs->free[run->size_class]))
		return;
	items = runs->free[run->size_class].items;
	items[runs->free[run->size_class].count] = *run;
	items[runs->free[run->size_class].count++].freed_ns = now_ns;
}
