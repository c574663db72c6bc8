/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of chunks sorted into columns: which byte goes where, and all of them back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/leb128.h"
#include "buffer/chunk_columns.h"

#include "alloc.h"
#include "codec_fixture.h"

#define MAX_BYTES 4096

static int setup(void **state)
{
	struct chunk_columns *columns;

	assert_int_equal(chunk_columns_open(&columns, MAX_BYTES), 0);
	*state = columns;
	return 0;
}

static int teardown(void **state)
{
	chunk_columns_close(*state);
	return 0;
}

static void assert_column(const struct chunk_columns *columns, enum column column,
			  const void *bytes, size_t size)
{
	assert_int_equal(chunk_columns_size(columns, column), size);
	if (size)
		assert_memory_equal(chunk_columns_bytes(columns, column), bytes, size);
}

/* Of the `byte`th byte of the `number`th number, both from 0. */
static enum column number_column(uint32_t number, uint32_t byte)
{
	return COLUMN_FIRST_NUMBER + number * COLUMN_NUMBER_BYTES + byte;
}

static int join_exact(struct chunk_columns *columns, const uint8_t *bytes, uint32_t first,
		      uint32_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	int err;

	assert_non_null(exact);
	err = chunk_columns_join(columns, exact, first, size);
	if (!err)
		assert_memory_equal(exact, bytes, size);
	free(exact);
	return err;
}

static void assert_round_trip(struct chunk_columns *columns, const uint8_t *bytes, uint32_t first,
			      uint32_t size)
{
	chunk_columns_split(columns, bytes, first, size);
	assert_int_equal(join_exact(columns, bytes, first, size), 0);
}

static void every_byte_has_its_column(void **state)
{
	static const uint8_t bytes[] = {
		0xee, 0xef, /* initial tail */
		0x05, 0x91, 0x01, 0x82, 0x02, 0x03, /* three numbers */
		0x01, 0x90, /* none */
		0x08, 0x91, 0x11, 0x12, 0x83, 0x84, 0x05, 0x16, 0x17, /* four and a rest */
		0x05, 0x91, 0x21, 0x22, 0xa3, 0xa4, /* two, one that does not end */
		0x05, 0x91, 0x31, 0x92, 0x32, 0x33, /* the first shape again */
		0x04, 0x91, 0x41, /* head */
	};
	struct chunk_columns *columns = *state;
	uint32_t i;

	chunk_columns_split(columns, bytes, 2, sizeof(bytes));
	assert_column(columns, COLUMN_VERBATIM, "\xee\xef\x04\x91\x41", 5);
	assert_column(columns, COLUMN_SHAPE_TABLE, "\x91\x06\x90\x00\x91\x09\x91\x05", 8);
	assert_column(columns, COLUMN_SHAPES, "\x00\x01\x02\x03\x00", 5);
	assert_column(columns, COLUMN_REST_SIZES, "\x01\x02", 2);
	assert_column(columns, COLUMN_REST, "\x17\xa3\xa4", 3);
	assert_column(columns, number_column(0, 0), "\x01\x11\x21\x31", 4);
	assert_column(columns, number_column(1, 0), "\x82\x12\x22\x92", 4);
	assert_column(columns, number_column(1, 1), "\x02\x32", 2);
	assert_column(columns, number_column(2, 0), "\x03\x83\x33", 3);
	assert_column(columns, number_column(2, 1), "\x84", 1);
	assert_column(columns, number_column(2, 2), "\x05", 1);
	assert_column(columns, number_column(3, 0), "\x16", 1);
	for (i = 0; i < COLUMN_COUNT; i++)
		if (i == number_column(0, 1) || i == number_column(0, 2) ||
		    i == number_column(1, 2) || i > number_column(3, 0))
			assert_int_equal(chunk_columns_size(columns, i), 0);
	assert_int_equal(join_exact(columns, bytes, 2, sizeof(bytes)), 0);
}

static void a_number_has_three_bytes_at_most(void **state)
{
	static const uint8_t bytes[] = {0x06, 0x91, 0x81, 0x82, 0x83, 0x84, 0x05};
	struct chunk_columns *columns = *state;

	chunk_columns_split(columns, bytes, 0, sizeof(bytes));
	assert_column(columns, number_column(0, 0), "\x81", 1);
	assert_column(columns, number_column(0, 1), "\x82", 1);
	assert_column(columns, number_column(0, 2), "\x83", 1);
	assert_column(columns, number_column(1, 0), "\x84", 1);
	assert_column(columns, number_column(1, 1), "\x05", 1);
	assert_int_equal(join_exact(columns, bytes, 0, sizeof(bytes)), 0);
}

/* Sizes that would not come back as they were. */
static void what_is_no_block_ends_it(void **state)
{
	static const uint8_t bytes[][6] = {
		{0x01, 0x90, 0x00, 0x01, 0x90, 0x01}, /* of no bytes */
		{0x01, 0x90, 0x81, 0x00, 0x90, 0x01}, /* 1 in two bytes */
		{0x01, 0x90, 0xff, 0xff, 0xff, 0xff}, /* a size that does not end */
		{0x01, 0x90, 0x04, 0x90, 0x01, 0x01}, /* a byte is missing */
	};
	struct chunk_columns *columns = *state;
	size_t i;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		chunk_columns_split(columns, bytes[i], 0, 6);
		assert_column(columns, COLUMN_SHAPES, "\x00", 1);
		assert_column(columns, COLUMN_VERBATIM, bytes[i] + 2, 4);
		assert_int_equal(join_exact(columns, bytes[i], 0, 6), 0);
	}
}

static void the_257th_shape_ends_it(void **state)
{
	struct chunk_columns *columns = *state;
	uint8_t bytes[258 * 3 + 2], *end = bytes;
	uint32_t i;

	for (i = 0; i < 256; i++) {
		*end++ = 1;
		*end++ = (uint8_t)i;
	}
	for (i = 0; i < 2; i++) {
		*end++ = 2;
		*end++ = 0x90;
		*end++ = 0x01;
	}
	chunk_columns_split(columns, bytes, 0, (uint32_t)(end - bytes));
	assert_int_equal(chunk_columns_size(columns, COLUMN_SHAPES), 256);
	assert_column(columns, COLUMN_VERBATIM, "\x02\x90\x01\x02\x90\x01", 6);
	assert_int_equal(join_exact(columns, bytes, 0, (uint32_t)(end - bytes)), 0);
}

static void blocks_of_every_size(void **state)
{
	struct chunk_columns *columns = *state;
	uint8_t bytes[MAX_BYTES], *end;
	uint64_t random = 1;
	uint32_t size, i, top;

	for (size = 1; size < 400; size++) {
		for (top = 0; top <= 0x80; top += 0x80) {
			end = bytes;
			while ((size_t)(end - bytes) + size + 2 <= sizeof(bytes)) {
				end = leb128_put(end, size);
				*end++ = 0x90;
				for (i = 1; i < size; i++)
					*end++ = (uint8_t)(next_random(&random) & ~0x80ULL) |
						 (uint8_t)top;
			}
			assert_round_trip(columns, bytes, 0, (uint32_t)(end - bytes));
		}
	}
}

/* Anything comes back, wherever it is cut. */
static void random_bytes_come_back(void **state)
{
	struct chunk_columns *columns = *state;
	uint8_t bytes[MAX_BYTES];
	uint64_t random = 2;
	uint32_t round, i, size;

	for (round = 0; round < 3000; round++) {
		size = next_random(&random) % (round % 10 ? 300 : MAX_BYTES + 1);
		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)(next_random(&random) % (round % 3 ? 256 : 10));
		assert_round_trip(columns, bytes, size ? next_random(&random) % (size + 1) : 0,
				  size);
	}
}

/* One byte more or less in any column is noticed. */
static void sizes_must_fit(void **state)
{
	struct chunk_columns *columns = *state;
	struct chunk *chunk = entry_chunk(1000, 10, 3);
	uint32_t column, size;

	for (column = 0; column < COLUMN_COUNT; column++) {
		chunk_columns_split(columns, chunk->bytes, 10, 1000);
		size = chunk_columns_size(columns, column);
		assert_true(size > 0);
		chunk_columns_set_size(columns, column, size - 1);
		assert_int_equal(join_exact(columns, chunk->bytes, 10, 1000), -EBADMSG);
		chunk_columns_set_size(columns, column, size + 1);
		assert_int_equal(join_exact(columns, chunk->bytes, 10, 1000), -EBADMSG);
	}
	chunk_destroy(chunk);
}

static void hostile_columns(void **state)
{
	struct chunk_columns *columns = *state;
	uint64_t random = 4;
	uint32_t round, column, i;
	uint8_t *bytes, out[MAX_BYTES];
	int err;

	for (round = 0; round < 2000; round++) {
		for (column = 0; column < COLUMN_COUNT; column++) {
			bytes = chunk_columns_bytes(columns, column);
			for (i = 0; i < 64; i++)
				bytes[i] = (uint8_t)(next_random(&random) % (round % 2 ? 256 : 4));
			chunk_columns_set_size(columns, column, next_random(&random) % 64);
		}
		if (round % 4 == 3)
			chunk_columns_set_size(columns, COLUMN_SHAPES, MAX_BYTES);
		err = chunk_columns_join(columns, out, 0, next_random(&random) % MAX_BYTES);
		assert_true(err == 0 || err == -EBADMSG);
	}
}

static int open_and_close(void *context)
{
	struct chunk_columns *columns;
	int err = chunk_columns_open(&columns, MAX_BYTES);

	if (!err)
		chunk_columns_close(columns);
	return err;
}

static void opening(void **state)
{
	struct chunk_columns *columns = NULL;

	assert_int_equal(chunk_columns_open(&columns, 0), -EINVAL);
	assert_int_equal(chunk_columns_open(&columns, (1u << 30) + 1), -EINVAL);
	assert_null(columns);
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 2);
	chunk_columns_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_byte_has_its_column, setup, teardown),
		cmocka_unit_test_setup_teardown(a_number_has_three_bytes_at_most, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_block_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(the_257th_shape_ends_it, setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_of_every_size, setup, teardown),
		cmocka_unit_test_setup_teardown(random_bytes_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(sizes_must_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_columns, setup, teardown),
		cmocka_unit_test(opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
