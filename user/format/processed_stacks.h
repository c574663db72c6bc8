/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_stacks.h - the table of stacks that all threads of a processed profile share.
 *
 *   row: frame, and how many rows before it that of its prefix is (0: it is a root)
 *
 * Rows go to spools. Which rows there are is remembered of the latest PROCESSED_STACKS_MAX only; what comes again later
 * has another row, which costs a few bytes and changes nothing of what the profile says.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_STACKS_H
#define GECKOBPF_FORMAT_PROCESSED_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/u64_map.h"

#define PROCESSED_STACKS_MAX (1U << 18)

struct json;
struct spool;
struct spool_pool;

/* Zero-initialised is closed. */
struct processed_stacks {
	struct spool *frames, *prefixes;
	struct u64_map keys; /* prefix + 1 << 32 | frame, of the rows from `first` on */
	uint32_t first;
	bool is_shared; /* by several processes: what one adds may be there */
};

/* `pool` is borrowed. 0 or -ENOMEM. */
int processed_stacks_open(struct processed_stacks *stacks, struct spool_pool *pool);
void processed_stacks_close(struct processed_stacks *stacks);

/* Called before each process but the first, whose own stacks are not looked for. 0 or -ENOMEM. */
int processed_stacks_share(struct processed_stacks *stacks);

/*
 * *id: the row of a frame on the stack of row `prefix` (PROCESSED_NONE: it is a root). 0, -ENOMEM, -E2BIG: too many
 * rows; -errno of the spool.
 */
int processed_stacks_add(struct processed_stacks *stacks, uint32_t prefix, uint32_t frame,
			 uint32_t *id);

/* The value of "stackTable". 0, or -errno of reading what was spilled. */
int processed_stacks_write(struct processed_stacks *stacks, struct json *json);

#endif
