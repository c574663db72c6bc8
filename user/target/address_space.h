/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_space.h - what code was mapped where, and since when, in one program image.
 *
 * An address belongs to the latest mapping that covers it and was there at the time. (The kernel
 * reports new executable mappings, not their end.) So mappings are only added, and dropped when
 * others have covered them for long enough. A new mapping that replaces another one's addresses
 * begins a new era; within an era an address that had a mapping keeps it, so what was looked up can
 * be cached.
 */
#ifndef GECKOBPF_TARGET_ADDRESS_SPACE_H
#define GECKOBPF_TARGET_ADDRESS_SPACE_H

#include <stddef.h>
#include <stdint.h>

struct object;

struct mapping {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t offset; /* of `start` in the file, bytes */
	uint64_t from_ns; /* when it appeared; 0: before the recording */
	struct object *object; /* borrowed */
};

/* Zero-initialised is empty. Items are in the order they were added, from_ns never falls. */
struct address_space {
	struct mapping *items;
	size_t count, capacity;
	size_t archived; /* so many of the first are in the stream already; kept by its writer */
	uint64_t *eras; /* times at which an era began, ascending */
	size_t era_count, era_capacity;
};

void address_space_clear(struct address_space *space);

/* Adds a mapping; one that is there already, unchanged, is not added again. 0 or -ENOMEM. */
int address_space_add(struct address_space *space, const struct mapping *mapping);

/* Adds all mappings of `from` as it stood at `time_ns`: what fork gives a child. 0 or -ENOMEM. */
int address_space_inherit(struct address_space *space, const struct address_space *from,
			  uint64_t time_ns);

/* The mapping of `address` at `time_ns`, or NULL. If all are later, the first that covers it: events can be late. */
const struct mapping *address_space_find(const struct address_space *space, uint64_t address,
					 uint64_t time_ns);

/* When the era that `time_ns` lies in ends, UINT64_MAX if never: what was found may differ from then on. */
uint64_t address_space_era_end(const struct address_space *space, uint64_t time_ns);

/*
 * Drops what cannot be found at `horizon_ns` or later: mappings whose addresses all have a newer
 * one since then, and eras. `dropped` may be NULL; it is told the index of each mapping, the
 * highest first. Returns how many went. Without memory nothing goes.
 */
size_t address_space_expire(struct address_space *space, uint64_t horizon_ns,
			    void (*dropped)(void *context, size_t index), void *context);

/* Memory of its arrays. */
size_t address_space_bytes(const struct address_space *space);

#endif
