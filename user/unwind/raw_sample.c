/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_sample.c - see raw_sample.h. Memory beyond the copy cannot be read; a walk that gets there ends as "stack not
 * readable".
 */
#include "unwind/raw_sample.h"

#include "unwind/table_store.h"

#include <string.h>

#define GB_INLINE inline __attribute__((always_inline))
#define gb_opaque(value) ((void)0)
#include "geckobpf_unwind.h"

/* The walk's state, and what it reads from. `unwind` is first, so that the one leads to the other. */
struct raw_sample_walk {
	struct gb_unwind unwind;
	const struct table_store *store;
	const struct raw_sample *sample;
	struct gb_cached_rule slot;
	uint64_t *words;
	const struct gb_mapping *awaited; /* the first of which the table is on its way */
};

static struct raw_sample_walk *walk_of(struct gb_unwind *u)
{
	return (struct raw_sample_walk *)u;
}

static GB_INLINE int gb_find_mapping(struct gb_unwind *u, __u64 pc, struct gb_mapping *mapping)
{
	struct raw_sample_walk *walk = walk_of(u);
	const struct raw_sample *sample = walk->sample;
	size_t low = 0, high = sample->mapping_count;

	if (!high)
		return 2;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sample->mappings[middle].end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == sample->mapping_count || pc < sample->mappings[low].begin)
		return 1;
	*mapping = sample->mappings[low];
	if (mapping->flags & GB_MAPPING_AWAITED && !walk->awaited)
		walk->awaited = &sample->mappings[low];
	return 0;
}

static GB_INLINE int gb_find_rule(struct gb_unwind *u, const struct gb_mapping *mapping,
				  __u64 vaddr, struct gb_unwind_rule *rule)
{
	const struct gb_unwind_rule *found = table_store_find(
		walk_of(u)->store, (uint32_t)(vaddr >> 12) + (uint32_t)mapping->page_offset,
		vaddr & 4095);

	if (!found)
		return 1;
	*rule = *found;
	return 0;
}

static GB_INLINE int gb_read_user(struct gb_unwind *u, __u64 address, void *to, __u32 bytes)
{
	const struct raw_sample *sample = walk_of(u)->sample;
	uint64_t start = sample->regs[GB_REG_SP], offset = address - start;

	if (address < start || offset > sample->word_count * 8 ||
	    sample->word_count * 8 - offset < bytes)
		return 1;
	memcpy(to, (const char *)sample->words + offset, bytes);
	return 0;
}

/* Raw samples are rare: nothing is kept. */
static GB_INLINE struct gb_cached_rule *gb_cache_slot(struct gb_unwind *u, __u64 pc)
{
	walk_of(u)->slot.generation = 0;
	return &walk_of(u)->slot;
}

static GB_INLINE void gb_put_word(struct gb_unwind *u, __u32 index, __u64 word)
{
	if (index < GB_MAX_USER_WORDS)
		walk_of(u)->words[index] = word;
}

uint32_t raw_sample_unwind(const struct table_store *store, const struct raw_sample *sample,
			   uint64_t *words, uint8_t *end, const struct gb_mapping **awaited)
{
	struct raw_sample_walk walk = {.store = store, .sample = sample, .words = words};
	int i;

	memcpy(walk.unwind.regs, sample->regs, sizeof(walk.unwind.regs));
	walk.unwind.known = ~0U;
	walk.unwind.how = GB_FRAME_HOW_LEAF;
	walk.unwind.generation = 1;
	walk.unwind.max_words = GB_MAX_USER_WORDS;
	for (i = 0; i < GB_MAX_USER_FRAMES; i++)
		if (gb_unwind_step(&walk.unwind))
			break;
	*end = walk.unwind.end ? walk.unwind.end : GB_STACK_FULL;
	*awaited = walk.awaited;
	return walk.unwind.count;
}
