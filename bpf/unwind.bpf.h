/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind.bpf.h - the unwinder (geckobpf_unwind.h) in the kernel: its tables are maps, its memory is
 * the current process's.
 *
 *   tgid ── process_maps ──> mappings [first, first + count) ── search ──> mapping
 *   pc ───> pages ──> row_pools[chunk / 64][chunk % 64] ── search ──> row ──> rules
 *
 * The verifier follows each path by itself: a search has no branch that depends on data, or forgets what it came by.
 */
#ifndef UNWIND_BPF_H
#define UNWIND_BPF_H

#define GB_INLINE __always_inline
#define gb_opaque(value) barrier_var(value)
#include "geckobpf_unwind.h"

/* All maps of tables are written by user space through mmap, so a table is there before what points to it. */

/* Inner map of `row_pools`: GB_POOL_CHUNKS chunks, made when the pools before it are full. */
struct row_pool {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_POOL_CHUNKS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct gb_chunk));
};

/* chunk / GB_POOL_CHUNKS -> pool. Bound: --unwind-memory; when it is reached, the tables not used longest go. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GB_MAX_POOLS);
	__type(key, __u32);
	__array(values, struct row_pool);
} row_pools SEC(".maps");

/* Page number -> where its rows are. Full: the file waits, and is walked by frame pointers, which is counted. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_MAX_PAGES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gb_page);
} pages SEC(".maps");

/* Rule number -> rule; shared by all files. Full: as above. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_MAX_RULES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gb_unwind_rule);
} rules SEC(".maps");

/*
 * Number -> mapping; runs of them belong to a process. Full: that process is walked by frame
 * pointers, which is counted.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_MAX_MAPPINGS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct gb_mapping);
} mappings SEC(".maps");

/*
 * tgid -> its run of mappings. Written by user space; fork copies the parent's in task.bpf.c. An
 * entry for another exec_id does not count. Full: samples of that process say GB_STACK_NO_PROCESS.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct gb_process_map);
} process_maps SEC(".maps");

#define SAMPLE_WORDS (sizeof(struct gb_sample) / 8)
#define SCRATCH_WORDS (SAMPLE_WORDS + GB_MAX_KERNEL_FRAMES + 1 + GB_RAW_REGS + GB_RAW_STACK_WORDS)
_Static_assert(GB_RAW_REGS + GB_RAW_STACK_WORDS >= GB_MAX_USER_WORDS,
	       "there is room for frames too");

#define CACHED_RULES 1024 /* 32 KiB a CPU: a few stacks of a large program */

/* Whose scratch memory: programs share it if none of them can interrupt another, as timer and switch cannot. */
enum scratch_slot { SLOT_TIMER, SLOT_TEST, SLOT_SLEEP };

/* Where a sample is built: the state of the walk, and the sample, which is sent at exactly its length. */
struct sample_scratch {
	struct gb_unwind unwind;
	struct gb_process_map process;
	__u32 user_at; /* index in words[] of the first user frame */
	__u32 pad;
	volatile __u64 forgotten; /* see gb_forget() */
	struct gb_cached_rule rules[CACHED_RULES]; /* by address */
	__u64 words[SCRATCH_WORDS];
};

/*
 * CPU * GB_SLOTS + enum scratch_slot -> scratch memory of one kind of program on one CPU. Not a
 * per-CPU map, whose values end at 32 KiB. User space sets max_entries for the CPUs there can be.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GB_SLOTS);
	__type(key, __u32);
	__type(value, struct sample_scratch);
} scratch SEC(".maps");

static __always_inline __u32 scratch_key(enum scratch_slot slot)
{
	return bpf_get_smp_processor_id() * GB_SLOTS + slot;
}

#define SCRATCH_OF(u) ((struct sample_scratch *)(u)) /* `unwind` is its first member */

static __always_inline int gb_read_user(struct gb_unwind *u, __u64 address, void *to, __u32 bytes)
{
	return bpf_probe_read_user(to, bytes, (const void *)address) != 0;
}

static __always_inline void gb_put_word(struct gb_unwind *u, __u32 index, __u64 word)
{
	__u64 at = SCRATCH_OF(u)->user_at + index;

	gb_opaque(at);
	if (at < SCRATCH_WORDS)
		SCRATCH_OF(u)->words[at] = word;
}

static __always_inline struct gb_cached_rule *gb_cache_slot(struct gb_unwind *u, __u64 pc)
{
	__u64 index = (pc * 0x9e3779b97f4a7c15ULL) >> 32;

	gb_opaque(index);
	return &SCRATCH_OF(u)->rules[index & (CACHED_RULES - 1)];
}

/*
 * `value`, of which the verifier knows nothing any more, so that paths that differ in it alone are one from here on. It
 * would follow each of them to the end otherwise.
 */
static __always_inline __u64 gb_forget(struct gb_unwind *u, __u64 value)
{
	SCRATCH_OF(u)->forgotten = value;
	return SCRATCH_OF(u)->forgotten;
}

/* All ones if a < b, for numbers below 2^63. It may become a branch. */
static __always_inline __u64 gb_below(__u64 a, __u64 b)
{
	return (__u64)((__s64)(a - b) >> 63);
}

/* The same, and never a branch, of which the verifier would walk both ways. */
static __always_inline __u64 gb_below_unbranched(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	gb_opaque(difference);
	return (__u64)((__s64)difference >> 63);
}

/* The last of `count` mappings from `first` on that begins at `pc` or before; `steps`: more than log2 of count. */
static __always_inline __u32 search_mappings(__u32 first, __u32 count, __u64 pc, const int steps)
{
	struct gb_mapping *found;
	__u64 is_before; /* all ones: at < count && found->begin <= pc */
	__u32 base = 0, key;
	int bit;

#pragma clang loop unroll(full)
	for (bit = steps - 1; bit >= 0; bit--) {
		__u32 at = base + (1U << bit);

		key = first + at;
		found = bpf_map_lookup_elem(&mappings, &key);
		if (!found)
			continue;
		is_before = gb_below_unbranched(at, count) & ~gb_below_unbranched(pc, found->begin);
		base += (__u32)is_before & (1U << bit);
	}
	return first + base;
}

static __always_inline int gb_find_mapping(struct gb_unwind *u, __u64 pc,
					   struct gb_mapping *mapping)
{
	__u32 first = SCRATCH_OF(u)->process.first, count = SCRATCH_OF(u)->process.count;
	struct gb_mapping *found;
	__u32 key;

	if (!count)
		return 2;
	if (count <= 64) /* nearly all processes */
		key = search_mappings(first, count, pc, 6);
	else
		key = search_mappings(first, count, pc, GB_MAPPING_STEPS);
	found = bpf_map_lookup_elem(&mappings, &key);
	if (!found || pc < found->begin || pc >= found->end)
		return 1;
	*mapping = *found;
	return 0;
}

static __always_inline __u32 *find_rows(const struct gb_page *page)
{
	__u32 pool = page->chunk / GB_POOL_CHUNKS, slot = page->chunk % GB_POOL_CHUNKS;
	void *map = bpf_map_lookup_elem(&row_pools, &pool);
	struct gb_chunk *chunk;

	if (!map)
		return NULL;
	chunk = bpf_map_lookup_elem(map, &slot);
	return chunk ? chunk->rows : NULL;
}

#define FORGET_STEPS 4 /* 16 paths at most between two places where they meet */

/*
 * The last of the rows [base, end) at `offset` or before; `steps`: more than log2 of their number.
 * A page has 70 rows as a rule; more steps than needed would read far behind them, which costs
 * cache misses. Branches are welcome: the CPU guesses them and reads ahead.
 */
static __always_inline __u64 search_rows(struct gb_unwind *u, const __u32 *rows, __u64 base,
					 __u64 end, __u64 offset, const int steps)
{
	int bit;

#pragma clang loop unroll(full)
	for (bit = steps - 1; bit >= 0; bit--) {
		__u64 at = base + (1ULL << bit), row;

		gb_opaque(at); /* or clang drops the mask, which 6.1 needs to see */
		row = rows[at & (GB_CHUNK_ROWS - 1)] & 4095;
		base += gb_below(at, end) & ~gb_below(offset, row) & (1ULL << bit);
		if (bit % FORGET_STEPS == 0)
			base = gb_forget(u, base);
	}
	return base;
}

/* In one load, since user space moves rows while we look: see row_chunks.h. */
static __always_inline int find_page(__u32 key, struct gb_page *page)
{
	const volatile __u64 *found = bpf_map_lookup_elem(&pages, &key);
	__u64 entry;

	if (!found)
		return 1;
	entry = *found;
	__builtin_memcpy(page, &entry, sizeof(*page));
	return !page->count;
}

static __always_inline int gb_find_rule(struct gb_unwind *u, const struct gb_mapping *mapping,
					__u64 vaddr, struct gb_unwind_rule *rule)
{
	__u32 key = (__u32)(vaddr >> 12) + mapping->page_offset, offset = vaddr & 4095;
	struct gb_unwind_rule *found;
	struct gb_page page;
	__u64 at, end;
	__u32 *rows;

	if (find_page(key, &page))
		return 1;
	rows = find_rows(&page);
	if (!rows)
		return 1;
	at = page.first;
	end = at + page.count;
	if (page.count <= 128)
		at = search_rows(u, rows, at, end, offset, 7);
	else
		at = search_rows(u, rows, at, end, offset, 10);
	gb_opaque(at);
	key = rows[at & (GB_CHUNK_ROWS - 1)] >> 12;
	found = bpf_map_lookup_elem(&rules, &key);
	if (!found)
		return 1;
	*rule = *found;
	return 0;
}

#endif
