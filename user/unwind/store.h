/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.h - where compiled tables are laid out for the unwinder: rows in chunks, pages, rules.
 *
 *   table ──> pages[page_base ...]  ──> rows in chunks (all rows of a page in one) ──> rules, shared by all tables
 *
 * The memory is the includer's: maps shared with the kernel, or plain memory for tests and for unwinding stack copies. What a reader
 * in the kernel may still look at is not written again for a second after it was freed.
 */
#ifndef GECKOBPF_UNWIND_STORE_H
#define GECKOBPF_UNWIND_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "geckobpf_abi.h"

struct unwind_store;
struct unwind_table;
struct stored_table;

struct unwind_memory {
	struct gb_page *pages; /* GB_MAX_PAGES */
	struct gb_unwind_rule *rules; /* GB_MAX_RULES */
	/* Makes pool `index` (0, 1, 2, ...): GB_POOL_CHUNKS chunks. 0, -ENOSPC: no more are allowed; -errno. */
	int (*add_pool)(void *context, uint32_t index, struct gb_chunk **chunks);
	void *context;
};

struct store_stats {
	uint64_t tables, rows, pages, rules; /* stored now */
	uint64_t chunks; /* in use */
	uint64_t pools;
};

/* 0 or -ENOMEM. */
int store_open(struct unwind_store **out, const struct unwind_memory *memory);
void store_close(struct unwind_store *store);

/* Makes the first `count` pools now, which takes milliseconds, rather than when a table waits for them. 0 or -errno. */
int store_reserve(struct unwind_store *store, uint32_t count);

/* Lays a table out. 0; -ENOSPC: rows, pages or rules are full; -ENOMEM. `now_ns`: of the monotonic clock. */
int store_add(struct unwind_store *store, const struct unwind_table *table, uint64_t now_ns,
	      struct stored_table **out);
/* Nothing points at the table any more. */
void store_remove(struct unwind_store *store, struct stored_table *stored, uint64_t now_ns);

/* (virtual address >> 12) + this = index in pages[]. */
int32_t stored_page_offset(const struct stored_table *stored);

/* The rule at offset `offset` of page `page`, as the unwinder in the kernel finds it; NULL: none. */
const struct gb_unwind_rule *store_find(const struct unwind_store *store, uint32_t page,
					uint32_t offset);

struct store_stats store_get_stats(const struct unwind_store *store);

#endif
