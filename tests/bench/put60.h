/* SPDX-License-Identifier: BSD-2-Clause */
/* put60.h - `micro put60`: what one put of a 60-byte entry into a chunked buffer takes. */
#ifndef GECKOBPF_BENCH_PUT60_H
#define GECKOBPF_BENCH_PUT60_H

#include <errno.h>
#include <stdlib.h>

#include "buffer/chunk_store.h"
#include "buffer/chunked_buffer.h"
#include "measure.h"

#define ENTRY_BYTES 60
#define ENTRIES_A_ROUND 10000
#define PUT60_LIMIT (128 << 20)

static inline int put60_ascending(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* One round, as the recorder does it: puts, and then the next chunks for those that need them. */
static inline int put_entries(struct chunk_store *store, struct chunked_buffer *buffer,
			      uint64_t *took_ns)
{
	uint8_t entry[ENTRY_BYTES] = {1};
	uint64_t begin_ns = cpu_now_ns();
	size_t i;
	int err = 0;

	for (i = 0; i < ENTRIES_A_ROUND && !err; i++) {
		entry[i % ENTRY_BYTES]++;
		err = chunked_buffer_put(buffer, entry, sizeof(entry));
	}
	*took_ns = cpu_now_ns() - begin_ns;
	chunk_store_fulfil(store);
	return err;
}

static inline double median_ns(uint64_t *took_ns, size_t rounds)
{
	qsort(took_ns, rounds, sizeof(took_ns[0]), put60_ascending);
	return (double)took_ns[rounds / 2] / ENTRIES_A_ROUND;
}

/*
 * Under the recorder's default limit. Until it is reached memory is touched for the first time,
 * which the kernel has to clear; after that chunks are used again. The two are told apart.
 */
static inline int run_put60(uint64_t count)
{
	static uint64_t took_ns[10000];
	const struct chunk_store_config config = {.max_bytes = PUT60_LIMIT};
	const size_t fresh = PUT60_LIMIT / (ENTRIES_A_ROUND * (ENTRY_BYTES + 1));
	const size_t rounds = count / ENTRIES_A_ROUND;
	struct chunk_store *store = NULL;
	struct chunked_buffer *buffer = NULL;
	size_t i;
	int err;

	if (rounds <= fresh + 1 || rounds > sizeof(took_ns) / sizeof(took_ns[0]))
		return -EINVAL;
	err = chunk_store_open(&store, &config);
	if (!err)
		err = chunked_buffer_open(&buffer, store, 1);
	for (i = 0; i < rounds && !err; i++)
		err = put_entries(store, buffer, &took_ns[i]);
	if (!err) {
		print("put60_fresh_ns", median_ns(took_ns, fresh));
		/* The round in which the limit is reached is neither. */
		print("put60_reused_ns", median_ns(took_ns + fresh + 1, rounds - fresh - 1));
	}
	chunked_buffer_close(buffer);
	chunk_store_close(store);
	return err;
}

#endif
