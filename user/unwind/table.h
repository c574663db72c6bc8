/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - the .eh_frame of one ELF file, compiled into rows that a binary search finds by address.
 *
 *   address (of the file) ──> page (4 KiB of text) ──> its rows, sorted ──> rule: how to get at the caller's registers
 *
 *   row, 32 bits:   rule number, 20 bits | offset in the page, 12 bits
 *
 * A row holds from its offset to the next row's. The first row of every page has offset 0, so a search never
 * leaves its page. Neighbours with equal rules are one row. Pages cover [first_page, first_page + page_count); one
 * without unwind information has a single row with GB_CFA_FRAME_POINTER.
 */
#ifndef GECKOBPF_UNWIND_TABLE_H
#define GECKOBPF_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "geckobpf_abi.h"
#include "unwind/limits.h"

#define UNWIND_PAGE_BITS 12
/* Ten search steps; a denser page becomes one GB_CFA_FRAME_POINTER row. */
#define UNWIND_MAX_ROWS_PER_PAGE 1023

struct unwind_page {
	uint32_t first; /* index of its first row in rows[] */
	uint32_t count; /* 1 to UNWIND_MAX_ROWS_PER_PAGE */
};

/* A part of the file that is mapped (a PT_LOAD). */
struct unwind_segment {
	uint64_t address; /* virtual */
	uint64_t offset; /* in the file */
	uint64_t bytes; /* those that are in the file */
	bool is_code; /* it is mapped executable */
};

/* What the compiler met; for tests, the log and the profilingLog. */
struct unwind_table_stats {
	uint64_t fdes; /* function descriptions read */
	uint64_t rows_in; /* rows before equal neighbours were merged */
	uint64_t unsupported; /* rows whose expression or register is not known: GB_CFA_INVALID */
	uint64_t dense_pages; /* pages with too many rows */
	uint64_t bad_fdes; /* descriptions that make no sense, skipped */
	/* of code that is beyond a limit, so that frame pointers are followed there, and the first limit */
	uint64_t skipped_bytes;
	uint32_t limit; /* enum unwind_limit */
};

struct unwind_table {
	uint64_t first_page; /* virtual address >> UNWIND_PAGE_BITS */
	uint32_t page_count;
	uint32_t row_count;
	uint32_t rule_count;
	struct unwind_page *pages;
	uint32_t *rows; /* rule numbers are indexes into rules[] */
	struct gb_unwind_rule *rules; /* distinct */
	uint32_t segment_count;
	struct unwind_segment *segments;
	bool tracks_reg; /* tracked_off of all rules is filled in: some rule's CFA needs GB_REG_TRACKED */
	/* all but Go code and what is known by sight is GB_CFA_FRAME_POINTER then */
	bool has_no_eh_frame;
	struct unwind_table_stats stats;
};

/* The file: behind a descriptor, or in memory (the vDSO). Borrowed. Hostile input. */
struct unwind_source {
	int fd; /* -1: use image */
	const void *image;
	size_t image_bytes;
};

/*
 * Within UNWIND_MEMORY_MAX_BYTES and about UNWIND_CPU_MAX_NS, whatever the file says. 0; -ENOEXEC: not an ELF file for
 * this machine, or not one that maps code; -EFBIG: more of that than a table can be for (UNWIND_LIMIT_PAGES); -ENOMEM;
 * -errno of reading it.
 */
int unwind_table_compile(struct unwind_table **out, const struct unwind_source *source);
void unwind_table_close(struct unwind_table *table);

#endif
