/* SPDX-License-Identifier: BSD-2-Clause */
/* facts_copy.c - see facts_copy.h. */
#include "recording/facts_copy.h"

#include "base/array.h"
#include "recording/losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* `memory` is freed at the end, or now without memory to remember it. NULL: no memory. */
static void *own(struct facts_copy *out, void *memory)
{
	if (!memory || ARRAY_ROOM(out)) {
		free(memory);
		return NULL;
	}
	out->items[out->count++] = memory;
	return memory;
}

static int copy_text(struct facts_copy *out, const char **text)
{
	if (!*text)
		return 0;
	*text = own(out, strdup(*text));
	return *text ? 0 : -ENOMEM;
}

static int copy_list(struct facts_copy *out, const char *const **list)
{
	const char **copy;
	size_t count = 0, i;
	int err = 0;

	while (*list && (*list)[count])
		count++;
	copy = own(out, calloc(count + 1, sizeof(*copy)));
	if (!copy)
		return -ENOMEM;
	for (i = 0; i < count && !err; i++) {
		copy[i] = (*list)[i];
		err = copy_text(out, &copy[i]);
	}
	*list = copy;
	return err;
}

static int copy_log(struct facts_copy *out)
{
	struct recording_facts *facts = &out->facts;
	struct recording_fact *copy =
		own(out, calloc(facts->log_count + 1, sizeof(struct recording_fact)));
	size_t i;
	int err = copy ? 0 : -ENOMEM;

	for (i = 0; i < facts->log_count && !err; i++) {
		copy[i] = facts->log[i];
		err = copy_text(out, &copy[i].name);
		if (!err)
			err = copy_text(out, &copy[i].text);
	}
	facts->log = copy;
	return err;
}

/* NULL: no memory. */
static const void *copy_items(struct facts_copy *out, const void *items, size_t count,
			      size_t item_bytes)
{
	void *copy = own(out, calloc(count + 1, item_bytes));

	if (copy && count)
		memcpy(copy, items, count * item_bytes);
	return copy;
}

static int copy_times(struct facts_copy *out)
{
	struct recording_facts *facts = &out->facts;

	facts->pauses = copy_items(out, facts->pauses, facts->pause_count, sizeof(*facts->pauses));
	facts->losses = copy_items(out, facts->losses, facts->loss_count, sizeof(*facts->losses));
	return facts->pauses && facts->losses ? 0 : -ENOMEM;
}

int facts_copy_make(struct facts_copy *out, const struct recording_facts *facts)
{
	const char **const texts[] = {&out->facts.product, &out->facts.version, &out->facts.oscpu,
				      &out->facts.cpu_name, &out->facts.boot_id};
	size_t i;
	int err = 0;

	out->facts = *facts;
	out->facts.parts = NULL;
	out->facts.part_count = 0;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]) && !err; i++)
		err = copy_text(out, texts[i]);
	if (!err)
		err = copy_list(out, &out->facts.threads);
	if (!err)
		err = copy_list(out, &out->facts.features);
	if (!err)
		err = copy_times(out);
	return err ? err : copy_log(out);
}

void facts_copy_clear(struct facts_copy *copy)
{
	size_t i;

	for (i = 0; i < copy->count; i++)
		free(copy->items[i]);
	free(copy->items);
	*copy = (struct facts_copy){0};
}
