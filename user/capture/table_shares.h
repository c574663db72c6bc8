/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table_shares.h - whose table makes room for another one, where those that nobody uses do not suffice.
 *
 * An owner is who owns the files (a uid). While a table waits, the owner who holds the largest share of rows, pages or
 * rules gives one back, if that share is larger than what the owner of the waiting table would have with it. So nobody
 * keeps others out, however many files he makes, and no two push each other out in turn. Files of root were not made
 * by who attacks others: they stay.
 */
#ifndef GECKOBPF_CAPTURE_TABLE_SHARES_H
#define GECKOBPF_CAPTURE_TABLE_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table_store.h"

/* What one table holds. */
struct table_holding {
	uint32_t owner;
	uint32_t users; /* mappings that point at it */
	uint32_t tag; /* the caller's */
	struct table_store_size size;
};

/* The largest of the three shares of `limits`, in millionths. */
uint64_t table_shares_of(const struct table_store_size *size,
			 const struct table_store_size *limits);

/*
 * The one of `count` holdings that makes room for `wanted`; NULL: none does. Of its owner's tables it is the one with
 * the most room for each of its users. Changes their order.
 */
const struct table_holding *table_shares_choose(struct table_holding *holdings, size_t count,
						const struct table_holding *wanted,
						const struct table_store_size *limits);

#endif
