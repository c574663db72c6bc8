/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_store.h - where compiled tables are laid out for the unwinder: rows in chunks, pages, rules.
 *
 *   table ──> pages[page_base ...]  ──> rows in chunks (all rows of a page in one) ──> rules, shared by all tables
 *
 * The memory is the includer's: maps shared with the kernel, or plain memory for tests and for
 * unwinding stack copies. What a reader in the kernel may still look at is not written again for a
 * second after it was freed: rows, pages and rules.
 */
#ifndef GECKOBPF_UNWIND_TABLE_STORE_H
#define GECKOBPF_UNWIND_TABLE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"

struct table_store;
struct unwind_table;
struct stored_table;

struct unwind_memory {
	struct gb_page *pages; /* GB_MAX_PAGES */
	struct gb_unwind_rule *rules; /* GB_MAX_RULES */
	/* Makes pool `index` (0, 1, 2, ...): GB_POOL_CHUNKS chunks. 0, -ENOSPC: no more are allowed; -errno. */
	int (*add_pool)(void *context, uint32_t index, struct gb_chunk **chunks);
	void *context;
	uint32_t max_pools;
};

/* How long a reader may still look at what nothing points to any more. */
#define TABLE_STORE_GRACE_NS 1000000000ULL

static inline bool table_store_grace_is_over(uint64_t freed_ns, uint64_t now_ns)
{
	return now_ns >= freed_ns && now_ns - freed_ns >= TABLE_STORE_GRACE_NS;
}

struct table_store_stats {
	uint64_t tables, rows, pages, rules; /* stored now */
	uint64_t chunks; /* in use */
	uint64_t pools;
};

/* 0 or -ENOMEM. */
int table_store_open(struct table_store **out, const struct unwind_memory *memory);
void table_store_close(struct table_store *store);

/* Makes the first `count` pools now, which takes milliseconds, rather than when a table waits for them. 0 or -errno. */
int table_store_reserve(struct table_store *store, uint32_t count);

/*
 * Lays a table out. 0; -ENOSPC: rows, pages or rules are full; -ENOMEM; -errno of add_pool().
 * `now_ns`: of the monotonic clock.
 */
int table_store_add(struct table_store *store, const struct unwind_table *table, uint64_t now_ns,
		    struct stored_table **out);
/* Frees a table that nothing points at any more; its room is used again a second later. */
void table_store_remove(struct table_store *store, struct stored_table *stored, uint64_t now_ns);

/*
 * Makes room out of what tables have left behind, if a table found too little of it: a bounded
 * piece of work, to be called again and again. True: there is more room a second later.
 */
bool table_store_tend(struct table_store *store, uint64_t now_ns);

/* What tables need, or hold. A rule that others use as well costs nothing. */
struct table_store_size {
	uint64_t rows, pages, rules;
};

struct table_store_size table_store_needs(const struct table_store *store,
					  const struct unwind_table *table);
struct table_store_size table_store_holds(const struct table_store *store,
					  const struct stored_table *stored);
/* All that there is for all of them. */
struct table_store_size table_store_limits(const struct table_store *store);

/*
 * Whether there would be room for `size` more if tables that hold `gone` were removed. Not exact: pieces may be left.
 */
bool table_store_could_hold(const struct table_store *store, const struct table_store_size *size,
			    const struct table_store_size *gone);

/* (virtual address >> 12) + this = index in pages[]. */
int32_t stored_page_offset(const struct stored_table *stored);

/* The rule at offset `offset` of page `page`, as the unwinder in the kernel finds it; NULL: none. */
const struct gb_unwind_rule *table_store_find(const struct table_store *store, uint32_t page,
					      uint32_t offset);

struct table_store_stats table_store_get_stats(const struct table_store *store);

#endif
