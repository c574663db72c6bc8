/* SPDX-License-Identifier: BSD-2-Clause */
/* family.c - see family.h. */
#include "profile/family.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/u64_map.h"
#include "profile/tracks.h"
#include "recording/recording.h"
#include "target/process.h"

/* What says more is no family: it would be its own ancestor. */
#define MAX_GENERATIONS 256

struct family {
	struct family_member *items; /* by owner, then by begin */
	size_t count;
};

/* The image that exec replaced; NULL: there is none, or it is not known. */
static const struct process *image_before(const struct process *process)
{
	const struct process *previous = process->previous;

	return previous && previous->key_ns == process->key_ns ? previous : NULL;
}

static uint64_t born_ns(const struct process *process)
{
	while (image_before(process))
		process = image_before(process);
	return process->born_ns;
}

/* *owner: NULL: none of its ancestors has a track, or they are not known. */
static int find_owner(const struct recording *recording, struct tracks *tracks,
		      const struct process *process, const struct process **owner)
{
	unsigned int generation;
	bool has_track = false;
	int err = 0;

	*owner = process;
	for (generation = 0; generation < MAX_GENERATIONS && *owner && !has_track && !err;
	     generation++) {
		const struct process_parent *parent = &(*owner)->parent;

		*owner = processes_find(recording->processes, parent->tgid, parent->key_ns,
					parent->exec_id);
		if (*owner && tracks_process(tracks, *owner)) {
			*owner = tracks_process(tracks, *owner);
			err = tracks_find(tracks, *owner, &has_track);
		}
	}
	if (!has_track)
		*owner = NULL;
	return err;
}

static int add_member(struct family *family, const struct recording *recording,
		      struct tracks *tracks, const struct process *process)
{
	const struct process *owner;
	int err = find_owner(recording, tracks, process, &owner);

	if (!err && owner)
		family->items[family->count++] =
			(struct family_member){owner->number, born_ns(process), process};
	return err;
}

static int compare_members(const void *a, const void *b)
{
	const struct family_member *left = a, *right = b;

	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	if (left->born_ns != right->born_ns)
		return left->born_ns < right->born_ns ? -1 : 1;
	if (left->process->tgid != right->process->tgid)
		return left->process->tgid < right->process->tgid ? -1 : 1;
	return left->process->life < right->process->life ? -1 : 1;
}

/* Those that exec replaced, by number. */
static int note_replaced(const struct processes *processes, struct u64_map *replaced)
{
	size_t i;
	int err = 0;

	for (i = 0; i < processes_count(processes) && !err; i++) {
		const struct process *before = image_before(processes_at(processes, i));

		if (before)
			err = u64_map_put(replaced, before->number, 0);
	}
	return err;
}

static int fill(struct family *family, const struct recording *recording, struct tracks *tracks)
{
	const struct processes *processes = recording->processes;
	struct u64_map replaced = {0};
	size_t i;
	int err = note_replaced(processes, &replaced);

	for (i = 0; i < processes_count(processes) && !err; i++) {
		const struct process *process = processes_at(processes, i);

		if (u64_map_get(&replaced, process->number) == U64_MAP_NONE)
			err = add_member(family, recording, tracks, process);
	}
	u64_map_clear(&replaced);
	return err;
}

int family_open(struct family **out, const struct recording *recording, struct tracks *tracks)
{
	struct family *family = calloc(1, sizeof(*family));
	int err;

	if (!family)
		return -ENOMEM;
	family->items = calloc(processes_count(recording->processes) + 1, sizeof(*family->items));
	err = family->items ? fill(family, recording, tracks) : -ENOMEM;
	if (err) {
		family_close(family);
		return err;
	}
	qsort(family->items, family->count, sizeof(*family->items), compare_members);
	*out = family;
	return 0;
}

void family_close(struct family *family)
{
	if (!family)
		return;
	free(family->items);
	free(family);
}

static size_t first_of(const struct family *family, uint32_t owner)
{
	size_t from = 0, to = family->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (family->items[middle].owner < owner)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct family_member *family_of(const struct family *family, const struct process *owner,
				      size_t *count)
{
	size_t first, end;

	*count = 0;
	if (!family)
		return NULL;
	first = end = first_of(family, owner->number);
	while (end < family->count && family->items[end].owner == owner->number)
		end++;
	*count = end - first;
	return *count ? &family->items[first] : NULL;
}
