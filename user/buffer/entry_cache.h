/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_cache.h - what was told of stacks, for the encoders (entry.h) of all processes, in memory
 * of one fixed size.
 *
 *   node    (epoch, kind, prefix node, key) -> number
 *   frame   (epoch, kind, key)              -> number, the frame that last followed it
 *
 *   set, one cache line:   | key 0 1 2 | tag 0 1 2 | number 0 1 2 | link 0 1 2 | 0 |
 *                                        tag:  epoch << 5 | kind of the frame << 1 | node or frame
 *                                        key:  value of the frame | stack_words << 48
 *                                        link: prefix node, or the frame that followed
 *
 * A cache: the key's hash names a set, and when that is full, what was not asked for the longest is
 * forgotten. Encoders then tell it again, which costs bytes and nothing else. Keys are compared
 * whole, so what is found is right. Way 0 was used last. Hashes are the user's: they should not
 * depend on the epoch, so that what one epoch has brought close to the CPU is close in the next.
 *
 * An epoch is named by 64 bits, of which tags hold the lower 27, the others being 0. When these
 * run out, all is forgotten and the upper half changes: epochs from before are over
 * (entry_cache_knows).
 */
#ifndef GECKOBPF_BUFFER_ENTRY_CACHE_H
#define GECKOBPF_BUFFER_ENTRY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer/frame.h"

#define ENTRY_CACHE_BYTES (8 << 20) /* the usual size */
#define ENTRY_CACHE_WAYS 3
#define ENTRY_CACHE_NONE UINT32_MAX
#define ENTRY_CACHE_EPOCHS (1U << 27)
#define ENTRY_CACHE_KIND_BITS 4

_Static_assert(FRAME_KINDS_MAX == 1 << ENTRY_CACHE_KIND_BITS, "tags have room for the kinds");

enum entry_cache_what { ENTRY_CACHE_NODE = 0, ENTRY_CACHE_FRAME = 1 };

struct entry_cache_set {
	uint64_t key[ENTRY_CACHE_WAYS];
	uint32_t tag[ENTRY_CACHE_WAYS]; /* 0: empty */
	uint32_t number[ENTRY_CACHE_WAYS];
	uint32_t link[ENTRY_CACHE_WAYS];
	uint32_t zero;
};

_Static_assert(sizeof(struct entry_cache_set) == 64, "a cache line");

struct entry_cache {
	struct entry_cache_set *sets;
	void *memory; /* that the sets lie in, aligned */
	uint32_t set_count;
	uint32_t epoch, generation; /* of the epoch that began last */
	uint8_t *scratch; /* ENTRY_MAX_BYTES, for the entry at hand of any encoder */
};

/* What a set has in one way. */
struct entry_cache_item {
	uint64_t key;
	uint32_t tag, number, link;
};

/* Takes about `bytes` of memory, at least one set. 0 or -ENOMEM. */
int entry_cache_open(struct entry_cache **out, size_t bytes);
void entry_cache_close(struct entry_cache *cache);

/* Names a new epoch, of which nothing is known. */
uint64_t entry_cache_begin(struct entry_cache *cache);

/* Whether the epoch can go on. */
static inline bool entry_cache_knows(const struct entry_cache *cache, uint64_t epoch)
{
	return epoch >> 32 == cache->generation;
}

static inline uint32_t entry_cache_tag(uint64_t epoch, enum entry_cache_what what, uint8_t kind)
{
	return (uint32_t)epoch << (ENTRY_CACHE_KIND_BITS + 1) | (uint32_t)kind << 1 |
	       (uint32_t)what;
}

static inline uint64_t entry_cache_key(const struct frame *frame)
{
	return frame->value | (uint64_t)frame->stack_words << GB_FRAME_PC_BITS;
}

/* Continues a hash; its upper half is the good one. */
static inline uint64_t entry_cache_hash(uint64_t hash, uint64_t key, uint8_t kind)
{
	hash = (hash ^ key ^ (uint64_t)kind << 60) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static inline struct entry_cache_set *entry_cache_set(const struct entry_cache *cache,
						      uint64_t hash)
{
	return &cache->sets[(hash >> 32) * cache->set_count >> 32];
}

/* One by one: the compiler would make calls of memmove() out of a loop. */
static inline void entry_cache_copy_way(struct entry_cache_set *set, size_t to, size_t from)
{
	set->key[to] = set->key[from];
	set->tag[to] = set->tag[from];
	set->number[to] = set->number[from];
	set->link[to] = set->link[from];
}

/* Puts an item first: what was in `way`, 1 or 2, goes, and those before it move up. */
static inline void entry_cache_put_first(struct entry_cache_set *set, size_t way,
					 const struct entry_cache_item *item)
{
	_Static_assert(ENTRY_CACHE_WAYS == 3, "each has a line here");
	if (way == 2)
		entry_cache_copy_way(set, 2, 1);
	entry_cache_copy_way(set, 1, 0);
	set->key[0] = item->key;
	set->tag[0] = item->tag;
	set->number[0] = item->number;
	set->link[0] = item->link;
}

/* As one that is new to the set. */
static inline void entry_cache_put(struct entry_cache_set *set, const struct entry_cache_item *item)
{
	entry_cache_put_first(set, ENTRY_CACHE_WAYS - 1, item);
}

/* What is in `way`, 1 or 2, was used. */
void entry_cache_touch(struct entry_cache_set *set, size_t way);

/* The number of a node; ENTRY_CACHE_NONE: not known. */
static inline uint32_t entry_cache_find_node(struct entry_cache_set *set, uint32_t tag,
					     uint32_t prefix, uint64_t key)
{
	size_t way;

	for (way = 0; way < ENTRY_CACHE_WAYS; way++) {
		if (set->key[way] != key || set->link[way] != prefix || set->tag[way] != tag)
			continue;
		if (way)
			entry_cache_touch(set, way);
		return set->number[0];
	}
	return ENTRY_CACHE_NONE;
}

/* Whether a frame is known; it is in way 0 then. */
static inline bool entry_cache_find_frame(struct entry_cache_set *set, uint32_t tag, uint64_t key)
{
	size_t way;

	for (way = 0; way < ENTRY_CACHE_WAYS; way++) {
		if (set->key[way] != key || set->tag[way] != tag)
			continue;
		if (way)
			entry_cache_touch(set, way);
		return true;
	}
	return false;
}

#endif
