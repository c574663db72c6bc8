/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page_runs.h - which parts of pages[] (GB_MAX_PAGES) are whose: one run a table, sorted; what lies between is free.
 *
 *   [ table )[ given back, its grace runs )      free      [ table )         free
 *
 * Giving back changes the run where it is, so it cannot fail, and no free page is ever lost.
 */
#ifndef GECKOBPF_UNWIND_PAGE_RUNS_H
#define GECKOBPF_UNWIND_PAGE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_run {
	uint32_t first, count;
	bool is_given; /* back, at given_ns */
	uint64_t given_ns;
};

/* Zero-initialised is empty. */
struct page_runs {
	struct page_run *items;
	size_t count, capacity;
	uint32_t used; /* pages of tables */
};

void page_runs_close(struct page_runs *runs);

/* 0; -ENOSPC: no gap is as large as `count`, which is not 0; -ENOMEM. */
int page_runs_take(struct page_runs *runs, uint32_t count, uint64_t now_ns, uint32_t *first);
/* The run that begins at `first` is free a second after `now_ns`. */
void page_runs_give(struct page_runs *runs, uint32_t first, uint64_t now_ns);

/* No page from here on is in a run. */
uint32_t page_runs_end(const struct page_runs *runs);

#endif
