/* SPDX-License-Identifier: BSD-2-Clause */
/* fact_list.c - see fact_list.h. */
#include "recording/fact_list.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fact_list_add(struct fact_list *list, const struct recording_fact *fact)
{
	char *name = strdup(fact->name), *text = fact->text ? strdup(fact->text) : NULL;

	if (!name || (fact->text && !text) || ARRAY_ROOM(list)) {
		list->error = -ENOMEM;
		free(name);
		free(text);
		return;
	}
	list->items[list->count++] =
		(struct recording_fact){.name = name, .value = fact->value, .text = text};
}

void fact_list_add_number(struct fact_list *list, const char *name, uint64_t value)
{
	fact_list_add(list, &(struct recording_fact){.name = name, .value = value});
}

void fact_list_add_text(struct fact_list *list, const char *name, const char *text)
{
	fact_list_add(list, &(struct recording_fact){.name = name, .text = text});
}

static void free_fact(const struct recording_fact *fact)
{
	free((char *)fact->name);
	free((char *)fact->text);
}

void fact_list_keep(struct fact_list *list,
		    bool (*is_kept)(void *context, const struct recording_fact *fact),
		    void *context)
{
	size_t i, kept = 0;

	for (i = 0; i < list->count; i++) {
		if (is_kept(context, &list->items[i]))
			list->items[kept++] = list->items[i];
		else
			free_fact(&list->items[i]);
	}
	list->count = kept;
}

void fact_list_clear(struct fact_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free_fact(&list->items[i]);
	free(list->items);
	*list = (struct fact_list){0};
}

const struct recording_fact *fact_find(const struct recording_fact *facts, size_t count,
				       const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(facts[i].name, name))
			return &facts[i];
	return NULL;
}
