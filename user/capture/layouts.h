/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layouts.h - what is mapped now in a process, laid out for the unwinder in a run of the kernel's array of mappings.
 *
 *   address space ──> sorted, with where the table of each file is ──> a run (mapping_runs.h)
 *
 * A layout is never changed. Processes that share their mappings, as fork makes them, share it. To make one takes time
 * and room in proportion to what is mapped, so for processes that have much there is a budget of both.
 */
#ifndef GECKOBPF_CAPTURE_LAYOUTS_H
#define GECKOBPF_CAPTURE_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct address_space;
struct file_tables;
struct layout;
struct layouts;

/* `mappings`: the kernel's array, GB_MAX_MAPPINGS long. Both are borrowed. 0 or -ENOMEM. */
int layouts_open(struct layouts **out, struct gb_mapping *mappings, struct file_tables *files);
/* Layouts that are still held are not freed. NULL is fine. */
void layouts_close(struct layouts *layouts);

/* Whether it is time to lay out `space`. `is_first`: its process has no layout yet, and so no stacks without one. */
bool layouts_may_make(struct layouts *layouts, const struct address_space *space, bool is_first,
		      uint64_t now_ns);

/*
 * *out: the layout of what is mapped, one that there is already if it is the same; to be dropped by the caller. The
 * files' tables were wanted before (file_tables_want()). 0, -ENOMEM, or -ENOSPC: the array is full, or this is more than
 * a process may have of what is left.
 */
int layouts_get(struct layouts *layouts, const struct address_space *space, uint64_t now_ns,
		struct layout **out);
/* Nobody unwinds by it any more who began a second ago. NULL is fine. */
void layouts_drop(struct layouts *layouts, struct layout *layout, uint64_t now_ns);

/* Whether it is that of `space` as it is now. NULL: no. */
bool layout_is_of(const struct layout *layout, const struct address_space *space);

/* Where it lies; exec_id is the caller's. */
struct gb_process_map layout_place(const struct layout *layout);
const struct gb_mapping *layout_mappings(const struct layouts *layouts,
					 const struct layout *layout);
/* The number of the object that one of these mappings is of. */
uint32_t layout_object(const struct layouts *layouts, const struct layout *layout,
		       const struct gb_mapping *mapping);

/*
 * Files may have got tables since layouts were made, or lost them. Before the first layouts_refresh() of a round.
 */
void layouts_begin_refresh(struct layouts *layouts);
/*
 * *layout becomes one with all tables that there are. True: it is another one now. Without memory or room it stays, but for
 * tables that are gone.
 */
bool layouts_refresh(struct layouts *layouts, struct layout **layout, uint64_t now_ns);

/* Memory, without the kernel's array. */
size_t layouts_bytes(const struct layouts *layouts);

#endif
