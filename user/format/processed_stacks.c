/* SPDX-License-Identifier: BSD-2-Clause */
/* processed_stacks.c - see processed_stacks.h. */
#include "format/processed_stacks.h"

#include <errno.h>
#include <string.h>

#include "format/column.h"
#include "format/json.h"
#include "format/processed_code.h"
#include "format/spool.h"

int processed_stacks_open(struct processed_stacks *stacks, struct spool_pool *pool)
{
	int err = spool_open(&stacks->frames, pool);

	return err ? err : spool_open(&stacks->prefixes, pool);
}

void processed_stacks_close(struct processed_stacks *stacks)
{
	spool_close(stacks->frames);
	spool_close(stacks->prefixes);
	u64_map_clear(&stacks->keys);
	memset(stacks, 0, sizeof(*stacks));
}

static uint32_t row_count(const struct processed_stacks *stacks)
{
	return stacks->first + (uint32_t)stacks->keys.count;
}

static void forget_if_many(struct processed_stacks *stacks)
{
	if (stacks->keys.count < PROCESSED_STACKS_MAX)
		return;
	stacks->first = row_count(stacks);
	u64_map_reset(&stacks->keys);
}

static int put_row(struct processed_stacks *stacks, uint32_t row, uint32_t prefix, uint32_t frame)
{
	int err = column_put_u64(stacks->frames, frame);

	return err ? err
		   : column_put_u64(stacks->prefixes, prefix == PROCESSED_NONE ? 0 : row - prefix);
}

int processed_stacks_share(struct processed_stacks *stacks)
{
	int err = stacks->is_shared ? 0 : u64_map_index(&stacks->keys);

	stacks->is_shared = !err;
	return err;
}

/* A row comes after its prefix's. So one whose prefix is the latest row of all is new. */
static int number_of(struct processed_stacks *stacks, uint32_t prefix, uint32_t frame,
		     uint32_t *number)
{
	uint64_t key = (uint64_t)(prefix + 1) << 32 | frame; /* PROCESSED_NONE + 1 is 0 */

	if (!stacks->is_shared)
		return u64_map_append(&stacks->keys, key, number);
	if (prefix + 1 == row_count(stacks))
		return u64_map_add(&stacks->keys, key, number);
	return u64_map_number(&stacks->keys, key, number);
}

int processed_stacks_add(struct processed_stacks *stacks, uint32_t prefix, uint32_t frame,
			 uint32_t *id)
{
	uint32_t row, found;
	int err;

	forget_if_many(stacks);
	row = row_count(stacks);
	if (row >= PROCESSED_NONE - PROCESSED_STACKS_MAX)
		return -E2BIG;
	err = number_of(stacks, prefix, frame, &found);
	if (err)
		return err;
	*id = stacks->first + found;
	return *id == row ? put_row(stacks, row, prefix, frame) : 0;
}

int processed_stacks_write(struct processed_stacks *stacks, struct json *json)
{
	int err;

	json_key(json, "stackTable");
	json_object_begin(json);
	err = column_write(stacks->frames, json, "frame");
	if (!err)
		err = column_write(stacks->prefixes, json, "prefixOffset");
	json_key_u64(json, "length", row_count(stacks));
	json_object_end(json);
	return err;
}
