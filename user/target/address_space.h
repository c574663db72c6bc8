/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address_space.h - what code was mapped where, and since when, in one program image.
 *
 * An address belongs to the latest mapping that covers it and was there at the time. (The kernel
 * reports new executable mappings, not their end.) So mappings are only added, and forgotten when
 * others have covered them for long enough, or when there are too many. A new mapping that replaces
 * another one's addresses begins a new era; within an era an address that had a mapping keeps it,
 * so what was looked up can be cached.
 *
 * All take time in proportion to the logarithm of what is mapped. What fork gives a child is shared
 * until one of them changes it, and then but for what changes (map_tree.h).
 */
#ifndef GECKOBPF_TARGET_ADDRESS_SPACE_H
#define GECKOBPF_TARGET_ADDRESS_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of memory, for each that is mapped. */
#define MAPPING_BYTES 104

struct map_node;
struct object;

struct mapping {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t offset; /* of `start` in the file, bytes */
	uint64_t from_ns; /* when it appeared; 0: before the recording */
	struct object *object; /* borrowed */
};

/* Zero-initialised is empty. */
struct address_space {
	struct map_node *root; /* what is mapped now */
	const struct object
		*program; /* what was mapped first; only to be compared, it may be gone */
	size_t count; /* mappings and parts of them, past ones included */
	size_t nodes; /* of them, those that no space has that was met before, as of the last visit */
	uint64_t sequence; /* mappings that were added so far */
	uint64_t archived; /* of these, so many are in the stream already; kept by its writer */
	uint64_t last_ns; /* from_ns of the newest */
	uint64_t
		since_ns; /* it is the child of a fork then, and its parent's past is not its own */
	bool has_parents_past; /* some of that may be here all the same */
	/* Mappings that were forgotten though they may be needed, for there were too many; its owner takes it. */
	uint64_t left_out;
	uint64_t *eras; /* times at which an era began, ascending */
	size_t era_count, era_capacity;
};

void address_space_clear(struct address_space *space);

/*
 * Adds a mapping; one that changes nothing is not added, and memory that grows is one mapping. Since when each is there
 * never falls. 0 or -ENOMEM.
 */
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
 * one since then, and eras. Spaces that share what goes lose it, too. Returns how many went.
 */
size_t address_space_expire(struct address_space *space, uint64_t horizon_ns);

/*
 * Leaves at most `most` (8 or more), if there are more: what is past goes, and if that is not enough, of what was mapped
 * after the first eighth, which is the program and its libraries, that which came first. Counts it in left_out. 0 or
 * -ENOMEM.
 */
int address_space_limit(struct address_space *space, size_t most);

/* ---- reading it as a whole ------------------------------------------------------------ */

struct listed_mapping {
	struct mapping mapping;
	uint64_t sequence; /* 1: the first that was added */
};

/* Zero-initialised is empty. */
struct mapping_list {
	struct listed_mapping *items;
	size_t count, capacity;
};

/*
 * Lists those that were added after the first `after`, in the order in which they were; who adds them to another space
 * finds the same there. What a child has of its parent was there before. The caller frees out->items. 0 or -ENOMEM.
 */
int address_space_list(const struct address_space *space, uint64_t after, struct mapping_list *out);

/* Calls `visit` for all that is mapped now, in ascending order, until it returns an error, which is returned. */
int address_space_now(const struct address_space *space,
		      int (*visit)(void *context, const struct mapping *mapping), void *context);

/*
 * Calls `visit` for all mappings, past ones included, that no space led to before in the same round
 * (address_space_round()); counts them in space->nodes.
 */
void address_space_visit(struct address_space *space, uint64_t round,
			 void (*visit)(void *context, const struct mapping *mapping),
			 void *context);
uint64_t address_space_round(void);

/* Memory of what was its own, and no other's, when it was visited last, and of what it has made since, about. */
size_t address_space_bytes(const struct address_space *space);

#endif
