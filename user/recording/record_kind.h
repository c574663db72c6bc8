/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_kind.h - one row a kind of record: how long it is at least, when it may be applied, and what it does.
 *
 * A new kind of record is a file with its row, and a line in record_table.c.
 */
#ifndef GECKOBPF_RECORDING_RECORD_KIND_H
#define GECKOBPF_RECORDING_RECORD_KIND_H

#include <stddef.h>
#include <stdint.h>

struct records;

/* Records come from several rings; each is in order, but they are not in step. */
enum record_order {
	RECORD_AT_ONCE, /* says all it needs itself: applied as it comes */
	RECORD_IN_ORDER, /* applied in the order of time among all such records */
	/* applied as it comes, but after all of the above that happened before it; only from the rings of samples */
	RECORD_AFTER_EARLIER,
};

struct record_kind {
	uint16_t kind; /* gb_record.kind; less than RECORD_KINDS_MAX */
	enum record_order order;
	size_t min_bytes; /* shorter ones are bad; at least struct gb_record */
	/* `size`: as the record says. Never fails: what cannot be used is counted. */
	void (*apply)(struct records *records, const void *record, size_t size);
};

#define RECORD_KINDS_MAX 64

/* All there are; ends with NULL. */
extern const struct record_kind *const record_table[];

#endif
