/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_columns.c - see chunk_columns.h.
 *
 * Form of a shape: numbers * 2 + (1 if it has a rest). Joining has no branch that depends on the
 * bytes of numbers, which are noise: it writes three and advances by how many there were.
 */
#include "buffer/chunk_columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"

#define MAX_BYTES (1u << 30)
#define FORMS ((COLUMN_NUMBERS + 1) * 2)
#define MAX_SHAPES 256
#define NO_SHAPE UINT16_MAX
/* Kind and numbers of a block, and what joining writes beyond them. */
#define FRONT_BYTES 16
_Static_assert(1 + COLUMN_NUMBERS * COLUMN_NUMBER_BYTES < FRONT_BYTES, "room for the front");
/* What is read beyond the end of a column. */
#define MAX_SMALL_REST 16
#define MAX_SMALL_BLOCK (1 + FRONT_BYTES + MAX_SMALL_REST)
_Static_assert(MAX_SMALL_BLOCK < 0x80, "a small block's size is one byte");

struct chunk_columns {
	uint8_t *bytes; /* all columns' */
	uint32_t max_bytes;
	uint32_t size[COLUMN_COUNT];
	uint16_t shapes[256][FORMS]; /* while splitting: number of a shape, or NO_SHAPE */
};

int chunk_columns_open(struct chunk_columns **out, uint32_t max_bytes)
{
	struct chunk_columns *columns;

	if (!max_bytes || max_bytes > MAX_BYTES)
		return -EINVAL;
	columns = calloc(1, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	columns->max_bytes = max_bytes;
	/* Zeroed by the kernel: what is never written is never touched. */
	columns->bytes = calloc(COLUMN_COUNT, (size_t)max_bytes + MAX_SMALL_REST);
	if (!columns->bytes) {
		chunk_columns_close(columns);
		return -ENOMEM;
	}
	*out = columns;
	return 0;
}

void chunk_columns_close(struct chunk_columns *columns)
{
	if (!columns)
		return;
	free(columns->bytes);
	free(columns);
}

uint32_t chunk_columns_max_bytes(const struct chunk_columns *columns)
{
	return columns->max_bytes;
}

uint8_t *chunk_columns_bytes(const struct chunk_columns *columns, enum column column)
{
	return columns->bytes + column * ((size_t)columns->max_bytes + MAX_SMALL_REST);
}

uint32_t chunk_columns_size(const struct chunk_columns *columns, enum column column)
{
	return columns->size[column];
}

void chunk_columns_set_size(struct chunk_columns *columns, enum column column, uint32_t size)
{
	columns->size[column] = size;
}

/* ---- splitting ---------------------------------------------------------------- */

struct split {
	struct chunk_columns *columns;
	uint8_t *at[COLUMN_COUNT]; /* where the next byte goes */
	uint32_t shape_count;
};

/* A block in the chunk. */
struct block {
	const uint8_t *kind, *rest, *end;
	uint8_t lengths[COLUMN_NUMBERS]; /* of its numbers */
	uint32_t numbers;
};

/* 1 to 3; 0: it does not end before `end`. */
static uint8_t number_length(const uint8_t *bytes, const uint8_t *end)
{
	uint8_t length;

	for (length = 1; bytes < end; length++, bytes++)
		if (length == COLUMN_NUMBER_BYTES || *bytes < 0x80)
			return length;
	return 0;
}

/* Whether a whole block begins at `bytes`, one that can be told without its size. */
static bool parse_block(const uint8_t *bytes, const uint8_t *end, struct block *block)
{
	const uint8_t *payload;
	uint64_t size;

	payload = leb128_get(bytes, end, &size);
	if (!payload || !size || size > (size_t)(end - payload) ||
	    (size_t)(payload - bytes) != leb128_size(size))
		return false;
	block->kind = payload;
	block->rest = payload + 1;
	block->end = payload + size;
	for (block->numbers = 0; block->numbers < COLUMN_NUMBERS; block->numbers++) {
		uint8_t length = number_length(block->rest, block->end);

		if (!length)
			break;
		block->lengths[block->numbers] = length;
		block->rest += length;
	}
	return true;
}

/* Tells the block's shape; false: there is no number for it. */
static bool split_shape(struct split *split, const struct block *block)
{
	uint8_t form = (uint8_t)(block->numbers * 2 + (block->rest < block->end));
	uint16_t *shape = &split->columns->shapes[*block->kind][form];

	if (*shape == NO_SHAPE) {
		if (split->shape_count == MAX_SHAPES)
			return false;
		*shape = (uint16_t)split->shape_count++;
		*split->at[COLUMN_SHAPE_TABLE]++ = *block->kind;
		*split->at[COLUMN_SHAPE_TABLE]++ = form;
	}
	*split->at[COLUMN_SHAPES]++ = (uint8_t)*shape;
	return true;
}

static void split_block(struct split *split, const struct block *block)
{
	uint8_t **column = &split->at[COLUMN_FIRST_NUMBER];
	const uint8_t *bytes = block->kind + 1;
	size_t rest_bytes = (size_t)(block->end - block->rest);
	uint32_t number, i;

	for (number = 0; number < block->numbers; number++, column += COLUMN_NUMBER_BYTES)
		for (i = 0; i < block->lengths[number]; i++)
			*column[i]++ = *bytes++;
	if (!rest_bytes)
		return;
	split->at[COLUMN_REST_SIZES] = leb128_put(split->at[COLUMN_REST_SIZES], rest_bytes);
	memcpy(split->at[COLUMN_REST], block->rest, rest_bytes);
	split->at[COLUMN_REST] += rest_bytes;
}

static void split_verbatim(struct split *split, const uint8_t *bytes, size_t size)
{
	memcpy(split->at[COLUMN_VERBATIM], bytes, size);
	split->at[COLUMN_VERBATIM] += size;
}

void chunk_columns_split(struct chunk_columns *columns, const uint8_t *bytes, uint32_t first_block,
			 uint32_t size)
{
	const uint8_t *at = bytes + first_block, *end = bytes + size;
	struct split split = {.columns = columns};
	struct block block;
	uint32_t i;

	for (i = 0; i < COLUMN_COUNT; i++)
		split.at[i] = chunk_columns_bytes(columns, i);
	memset(columns->shapes, 0xff, sizeof(columns->shapes));
	split_verbatim(&split, bytes, first_block);
	while (parse_block(at, end, &block) && split_shape(&split, &block)) {
		split_block(&split, &block);
		at = block.end;
	}
	split_verbatim(&split, at, (size_t)(end - at));
	for (i = 0; i < COLUMN_COUNT; i++)
		columns->size[i] = (uint32_t)(split.at[i] - chunk_columns_bytes(columns, i));
}

/* ---- joining -------------------------------------------------------------------- */

struct shape {
	uint8_t kind;
	uint8_t numbers;
	uint8_t rest; /* 1: it has a rest */
	bool is_defined;
};

/* Where joining is. */
struct join {
	const uint8_t *numbers[COLUMN_COUNT - COLUMN_FIRST_NUMBER];
	const uint8_t *rest, *rest_end;
	const uint8_t *rest_sizes, *rest_sizes_end;
	uint8_t *out, *out_end;
};

/* Writes the next number at `out`, and garbage after it: 4 bytes in all. Returns its end. */
static inline uint8_t *join_number(const uint8_t **column, uint8_t *out)
{
	uint8_t first = *column[0], second = *column[1];
	uint32_t two = first >> 7, three = two & second >> 7;

	out[0] = first;
	out[1] = second;
	out[2] = *column[2];
	column[0]++;
	column[1] += two;
	column[2] += three;
	return out + 1 + two + three;
}

/* Writes kind and numbers at `out`, which has room for FRONT_BYTES - 1. Returns their end. */
static inline uint8_t *join_front(struct join *join, const struct shape *shape, uint8_t *out)
{
	const uint8_t **column = join->numbers;

	*out++ = shape->kind;
	if (shape->numbers > 0)
		out = join_number(column, out);
	if (shape->numbers > 1)
		out = join_number(column + COLUMN_NUMBER_BYTES, out);
	if (shape->numbers > 2)
		out = join_number(column + 2 * COLUMN_NUMBER_BYTES, out);
	if (shape->numbers > 3)
		out = join_number(column + 3 * COLUMN_NUMBER_BYTES, out);
	return out;
}

/* Any block, anywhere. */
static int join_block(struct join *join, const struct shape *shape)
{
	uint8_t front[FRONT_BYTES];
	size_t front_bytes = (size_t)(join_front(join, shape, front) - front), block_bytes;
	uint64_t rest_bytes = 0;

	if (shape->rest) {
		join->rest_sizes = leb128_get(join->rest_sizes, join->rest_sizes_end, &rest_bytes);
		if (!join->rest_sizes || rest_bytes > (size_t)(join->rest_end - join->rest))
			return -EBADMSG;
	}
	block_bytes = front_bytes + rest_bytes;
	if (leb128_size(block_bytes) + block_bytes > (size_t)(join->out_end - join->out))
		return -EBADMSG;
	join->out = leb128_put(join->out, block_bytes);
	memcpy(join->out, front, front_bytes);
	join->out += front_bytes;
	memcpy(join->out, join->rest, rest_bytes);
	join->out += rest_bytes;
	join->rest += rest_bytes;
	return 0;
}

/*
 * Blocks up to the first that is large, near the end or of no shape. Returns where that is in
 * SHAPES. The one loop that has to be fast: the only branches that are hard to foresee are those on
 * how many numbers there are; a rest of no bytes is copied like any other.
 */
static const uint8_t *join_small_blocks(struct join *join, const struct shape *shapes,
					const uint8_t *block, const uint8_t *blocks_end)
{
	struct join at = *join; /* nobody else's, so that it can be in registers */

	for (; block < blocks_end; block++) {
		const struct shape *shape = &shapes[*block];
		uint8_t *rest_out, rest_bytes = shape->rest ? *at.rest_sizes : 0;

		if (rest_bytes > MAX_SMALL_REST || rest_bytes > at.rest_end - at.rest ||
		    at.out_end - at.out < MAX_SMALL_BLOCK || !shape->is_defined)
			break;
		rest_out = join_front(&at, shape, at.out + 1);
		memcpy(rest_out, at.rest, MAX_SMALL_REST);
		at.rest += rest_bytes;
		at.rest_sizes += shape->rest;
		*at.out = (uint8_t)(rest_out + rest_bytes - at.out - 1);
		at.out = rest_out + rest_bytes;
	}
	*join = at;
	return block;
}

static int join_blocks(struct join *join, const struct shape *shapes, const uint8_t *block,
		       const uint8_t *blocks_end)
{
	int err = 0;

	while (!err) {
		block = join_small_blocks(join, shapes, block, blocks_end);
		if (block == blocks_end)
			return 0;
		err = shapes[*block].is_defined ? join_block(join, &shapes[*block]) : -EBADMSG;
		block++;
	}
	return err;
}

static int read_shapes(const struct chunk_columns *columns, struct shape *shapes)
{
	const uint8_t *table = chunk_columns_bytes(columns, COLUMN_SHAPE_TABLE);
	uint32_t size = columns->size[COLUMN_SHAPE_TABLE], i;

	if (size % 2 || size / 2 > MAX_SHAPES)
		return -EBADMSG;
	for (i = 0; i < size / 2; i++, table += 2) {
		if (table[1] >= FORMS)
			return -EBADMSG;
		shapes[i] = (struct shape){
			.kind = table[0],
			.numbers = table[1] / 2,
			.rest = table[1] % 2,
			.is_defined = true,
		};
	}
	return 0;
}

static const uint8_t *column_end(const struct chunk_columns *columns, enum column column)
{
	return chunk_columns_bytes(columns, column) + columns->size[column];
}

/* Whether everything was used up, no more and no less. */
static bool is_complete(const struct chunk_columns *columns, const struct join *join)
{
	uint32_t i;

	for (i = 0; i < COLUMN_COUNT - COLUMN_FIRST_NUMBER; i++)
		if (join->numbers[i] != column_end(columns, COLUMN_FIRST_NUMBER + i))
			return false;
	return join->out == join->out_end && join->rest == join->rest_end &&
	       join->rest_sizes == join->rest_sizes_end;
}

int chunk_columns_join(struct chunk_columns *columns, uint8_t *bytes, uint32_t first_block,
		       uint32_t size)
{
	const uint8_t *verbatim = chunk_columns_bytes(columns, COLUMN_VERBATIM);
	uint32_t verbatim_bytes = columns->size[COLUMN_VERBATIM], end_bytes, i;
	struct shape shapes[MAX_SHAPES] = {0};
	struct join join;
	int err;

	if (first_block > verbatim_bytes || verbatim_bytes > size)
		return -EBADMSG;
	end_bytes = verbatim_bytes - first_block;
	memcpy(bytes, verbatim, first_block);
	memcpy(bytes + size - end_bytes, verbatim + first_block, end_bytes);
	join = (struct join){
		.rest = chunk_columns_bytes(columns, COLUMN_REST),
		.rest_end = column_end(columns, COLUMN_REST),
		.rest_sizes = chunk_columns_bytes(columns, COLUMN_REST_SIZES),
		.rest_sizes_end = column_end(columns, COLUMN_REST_SIZES),
		.out = bytes + first_block,
		.out_end = bytes + size - end_bytes,
	};
	for (i = 0; i < COLUMN_COUNT - COLUMN_FIRST_NUMBER; i++)
		join.numbers[i] = chunk_columns_bytes(columns, COLUMN_FIRST_NUMBER + i);
	err = read_shapes(columns, shapes);
	if (!err)
		err = join_blocks(&join, shapes, chunk_columns_bytes(columns, COLUMN_SHAPES),
				  column_end(columns, COLUMN_SHAPES));
	if (!err && !is_complete(columns, &join))
		err = -EBADMSG;
	return err;
}
