/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk_columns.h - the bytes of a chunk, sorted by what they mean, and back.
 *
 *   chunk    | initial tail | size kind numbers... rest | size kind numbers... rest | ... | head |
 *
 *   VERBATIM    initial tail; then the head of the last block and whatever is no block
 *   SHAPE_TABLE (kind, form) of shapes 0, 1, 2, ... in order of their first use
 *   SHAPES      one byte a block: its shape
 *   NUMBERS     12 columns: the 1st, 2nd and 3rd byte of each block's 1st to 4th number
 *   REST_SIZES  ULEB128 of the rest's size, of blocks that have one
 *   REST        the rests
 *
 * Most payloads (entry.h) are a byte that says what follows, here called the kind, and ULEB128
 * numbers. Bytes of one column resemble each other, those of neighbouring columns do not, so each
 * is compressed alone (chunk_codec.h). Nothing depends on payloads being so: a number here is one
 * byte, or two or three as long as all but the last have their top bit set; what is left of a
 * payload after four of them, or that ends within one, is its rest.
 *
 * The shape of a block is its kind and its form: how many numbers it has, and whether a rest. A
 * block's size is not stored; it follows from the shape and the numbers' top bits. At the first
 * block that cannot be told this way (257th shape, size 0 or not in its shortest form) splitting
 * ends and all that is left goes verbatim.
 *
 * When joining, a shape takes at most one byte of each column of numbers and the size of its rest
 * is checked. As no column is larger than max_bytes, none can be overrun, whatever is joined.
 */
#ifndef GECKOBPF_BUFFER_CHUNK_COLUMNS_H
#define GECKOBPF_BUFFER_CHUNK_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#define COLUMN_NUMBERS 4
#define COLUMN_NUMBER_BYTES 3

enum column {
	COLUMN_VERBATIM,
	COLUMN_SHAPE_TABLE,
	COLUMN_SHAPES,
	COLUMN_REST_SIZES,
	COLUMN_REST,
	COLUMN_FIRST_NUMBER,
	COLUMN_COUNT = COLUMN_FIRST_NUMBER + COLUMN_NUMBERS * COLUMN_NUMBER_BYTES,
};

struct chunk_columns;

/* For chunks of at most `max_bytes`. 0, -EINVAL (0 or more than 2^30), -ENOMEM. */
int chunk_columns_open(struct chunk_columns **out, uint32_t max_bytes);
void chunk_columns_close(struct chunk_columns *columns);

uint32_t chunk_columns_max_bytes(const struct chunk_columns *columns);
/* The bytes of a column, with room for max_bytes, and their number. */
uint8_t *chunk_columns_bytes(const struct chunk_columns *columns, enum column column);
uint32_t chunk_columns_size(const struct chunk_columns *columns, enum column column);
/* `size` <= max_bytes. */
void chunk_columns_set_size(struct chunk_columns *columns, enum column column, uint32_t size);

/* Fills the columns from a chunk's first `size` bytes, of which `first_block` are initial tail. */
void chunk_columns_split(struct chunk_columns *columns, const uint8_t *bytes, uint32_t first_block,
			 uint32_t size);

/*
 * The reverse. 0, or -EBADMSG: the columns do not hold together; some of the `size` bytes have then
 * been written.
 */
int chunk_columns_join(struct chunk_columns *columns, uint8_t *bytes, uint32_t first_block,
		       uint32_t size);

#endif
