/* SPDX-License-Identifier: BSD-2-Clause */
/* gather_lanes.c - see gather_lanes.h. */
#include "profile/gather_lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gather_lanes_open(struct gather_lanes *lanes, size_t capacity)
{
	lanes->items = calloc(capacity ? capacity : 1, sizeof(*lanes->items));
	return lanes->items ? 0 : -ENOMEM;
}

void gather_lanes_close(struct gather_lanes *lanes)
{
	free(lanes->items);
}

uint32_t gather_lanes_add(struct gather_lanes *lanes, const char *name, uint32_t tid)
{
	struct gather_lane *lane = &lanes->items[lanes->count];

	snprintf(lane->of, sizeof(lane->of), "%.*s", THREAD_NAME_BYTES - 1, name);
	snprintf(lane->name, sizeof(lane->name), "%s", lane->of);
	lane->thread.tid = tid;
	return (uint32_t)lanes->count++;
}

/* The first that is free and has that name; GATHER_NO_LANE: none is, nor can be made. */
static uint32_t find(struct gather_lanes *lanes, const char *name, uint64_t born_ns)
{
	const size_t limit = GATHER_LANES - (*name ? GATHER_LANES_OF_ANY : 0);
	size_t i;

	for (i = 0; i < lanes->count; i++)
		if (lanes->items[i].until_ns <= born_ns && !strcmp(lanes->items[i].of, name))
			return (uint32_t)i;
	if (lanes->count < limit)
		return gather_lanes_add(lanes, name, (uint32_t)lanes->count + 1);
	return *name ? find(lanes, "", born_ns) : GATHER_NO_LANE;
}

bool gather_lanes_take(struct gather_lanes *lanes, const struct gather_stay *stay,
		       uint32_t *numbers, size_t count)
{
	uint64_t before_ns[GATHER_LANES];
	size_t found = 0, i;

	while (found < count && found < GATHER_LANES) {
		numbers[found] = find(lanes, stay->name, stay->born_ns);
		if (numbers[found] == GATHER_NO_LANE)
			break;
		before_ns[found] = lanes->items[numbers[found]].until_ns;
		lanes->items[numbers[found]].until_ns =
			UINT64_MAX; /* another thread takes another */
		found++;
	}
	for (i = 0; i < found; i++) {
		lanes->items[numbers[i]].until_ns = found < count ? before_ns[i] : stay->until_ns;
		if (found < count)
			numbers[i] = GATHER_NO_LANE;
	}
	return count && found == count;
}

void gather_lanes_name(struct gather_lanes *lanes)
{
	size_t i;

	for (i = 0; i < lanes->count; i++) {
		struct gather_lane *lane = &lanes->items[i];

		snprintf(lane->name, sizeof(lane->name), "%s (%" PRIu32 ")",
			 *lane->of ? lane->of : "other processes", lane->unit_count);
	}
}

void gather_lanes_own(struct gather_lanes *lanes, struct process *process)
{
	size_t i;

	for (i = 0; i < lanes->count; i++)
		lanes->items[i].thread.process = process;
}
