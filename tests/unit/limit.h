/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.h - what the tests of the chunk manager with a limit share. After cmocka.h. */
#ifndef GECKOBPF_TESTS_LIMIT_H
#define GECKOBPF_TESTS_LIMIT_H

#include "alloc.h"
#include "buffer/chunk.h"
#include "buffer/chunk_manager_limit.h"

#define CHUNK 100

/* Counts what it is told. */
struct tally {
	size_t count;
	uint64_t bytes;
	uint64_t last_range_start;
	uint32_t last_state;
};

static inline void on_destroy(void *context, const struct chunk *chunk)
{
	struct tally *tally = context;

	tally->count++;
	tally->bytes += chunk->header.buffer_bytes;
	tally->last_range_start = chunk->header.range_start;
	tally->last_state = chunk->header.state;
}

static inline struct chunk_manager *manager_of_sizes(uint64_t max_bytes, uint32_t first,
						     uint32_t most)
{
	struct chunk_manager *manager = NULL;
	const struct chunk_manager_limit_config config = {
		.max_total_bytes = max_bytes,
		.chunk_first_bytes = first,
		.chunk_max_bytes = most,
	};

	assert_int_equal(chunk_manager_limit_open(&manager, &config), 0);
	return manager;
}

static inline struct chunk_manager *manager_of(uint64_t max_bytes, struct tally *tally)
{
	struct chunk_manager *manager = manager_of_sizes(max_bytes, 0, CHUNK);

	if (tally) {
		*tally = (struct tally){0};
		chunk_manager_set_witness(manager, (struct chunk_witness){on_destroy, tally});
	}
	return manager;
}

static inline struct chunk *get(struct chunk_manager *manager)
{
	struct chunk *chunk = NULL;

	assert_int_equal(chunk_manager_get(manager, 1, &chunk), 0);
	return chunk;
}

static inline struct chunk *get_done(struct chunk_manager *manager, uint64_t range_start)
{
	struct chunk *chunk = get(manager);

	chunk_reserve_initial_tail(chunk, 0);
	chunk->header.range_start = range_start;
	chunk_mark_done(chunk);
	return chunk;
}

static inline void assert_bytes(const struct chunk_manager *manager, uint64_t unreleased,
				uint64_t released)
{
	struct chunk_manager_stats stats = chunk_manager_get_stats(manager);

	assert_int_equal(stats.unreleased_bytes, unreleased);
	assert_int_equal(stats.released_bytes, released);
}

#endif
