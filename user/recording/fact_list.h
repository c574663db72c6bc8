/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fact_list.h - facts for the profilingLog (recording.h), as many as there are, in the order in which they were added.
 *
 * The list has copies of all texts. It remembers that memory was out, so that a row of calls needs one check; what
 * found no memory is not in it.
 */
#ifndef GECKOBPF_RECORDING_FACT_LIST_H
#define GECKOBPF_RECORDING_FACT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/recording.h"

/* Zero-initialised is empty. */
struct fact_list {
	struct recording_fact *items;
	size_t count, capacity;
	int error; /* 0 or -ENOMEM */
};

/* Each adds a fact; without memory for it, it sets list->error. */
void fact_list_add_number(struct fact_list *list, const char *name, uint64_t value);
void fact_list_add_text(struct fact_list *list, const char *name, const char *text);
void fact_list_add(struct fact_list *list, const struct recording_fact *fact);

/* Drops all of which `is_kept` is false. */
void fact_list_keep(struct fact_list *list,
		    bool (*is_kept)(void *context, const struct recording_fact *fact),
		    void *context);

/* The fact of that name; NULL: there is none. */
const struct recording_fact *fact_find(const struct recording_fact *facts, size_t count,
				       const char *name);

/* Frees it; it is empty then, without an error. */
void fact_list_clear(struct fact_list *list);

#endif
