/* SPDX-License-Identifier: BSD-2-Clause */
/* test_leb128.c - sizes, exact bytes, and what is refused. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "alloc.h"
#include "base/leb128.h"

struct number {
	uint64_t value;
	size_t size;
	uint8_t bytes[LEB128_MAX_BYTES_U64];
};

static const struct number numbers[] = {
	{0, 1, {0x00}},
	{1, 1, {0x01}},
	{0x7f, 1, {0x7f}},
	{0x80, 2, {0x80, 0x01}},
	{0x81, 2, {0x81, 0x01}},
	{0xff, 2, {0xff, 0x01}},
	{0x100, 2, {0x80, 0x02}},
	{300, 2, {0xac, 0x02}},
	{0xffff, 3, {0xff, 0xff, 0x03}},
	{UINT32_MAX, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
	{UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static void sizes_are_those_of_the_widest_types(void **state)
{
	assert_int_equal(leb128_size(UINT8_MAX), 2);
	assert_int_equal(leb128_size(UINT16_MAX), 3);
	assert_int_equal(leb128_size(UINT32_MAX), LEB128_MAX_BYTES_U32);
	assert_int_equal(leb128_size(UINT64_MAX), LEB128_MAX_BYTES_U64);
}

static void known_numbers_have_exact_bytes(void **state)
{
	size_t n;

	for (n = 0; n < NUMBER_COUNT; n++) {
		uint8_t bytes[LEB128_MAX_BYTES_U64 + 1];

		memset(bytes, 0xee, sizeof(bytes));
		assert_int_equal(leb128_size(numbers[n].value), numbers[n].size);
		assert_ptr_equal(leb128_put(bytes, numbers[n].value), bytes + numbers[n].size);
		assert_memory_equal(bytes, numbers[n].bytes, numbers[n].size);
		assert_int_equal(bytes[numbers[n].size], 0xee);
	}
}

static void reading_advances_by_exactly_the_number(void **state)
{
	size_t n;

	for (n = 0; n < NUMBER_COUNT; n++) {
		uint8_t bytes[LEB128_MAX_BYTES_U64 + 1] = {0};
		uint64_t value = 77;

		memcpy(bytes, numbers[n].bytes, numbers[n].size);
		bytes[numbers[n].size] = 0xff;
		assert_ptr_equal(leb128_get(bytes, bytes + sizeof(bytes), &value),
				 bytes + numbers[n].size);
		assert_int_equal(value, numbers[n].value);
	}
}

static void a_missing_byte_is_refused(void **state)
{
	size_t n, size;

	for (n = 0; n < NUMBER_COUNT; n++) {
		for (size = 0; size < numbers[n].size; size++) {
			uint64_t value = 77;

			assert_null(leb128_get(numbers[n].bytes, numbers[n].bytes + size, &value));
			assert_int_equal(value, 77);
		}
	}
}

static void more_than_64_bits_are_refused(void **state)
{
	static const uint8_t bit_64[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
	static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					 0x80, 0x80, 0x80, 0x80, 0x00};
	uint64_t value = 77;

	assert_null(leb128_get(bit_64, bit_64 + sizeof(bit_64), &value));
	assert_null(leb128_get(eleven, eleven + sizeof(eleven), &value));
	assert_int_equal(value, 77);
}

static void the_incremental_reader_is_complete_at_the_last_byte(void **state)
{
	size_t n, at;

	for (n = 0; n < NUMBER_COUNT; n++) {
		struct leb128_reader reader = {0};

		for (at = 0; at < numbers[n].size; at++) {
			assert_false(reader.is_complete); /* a byte is missing */
			assert_true(leb128_feed(&reader, numbers[n].bytes[at]));
		}
		assert_true(reader.is_complete);
		assert_int_equal(reader.value, numbers[n].value);
	}
}

static void the_incremental_reader_refuses_an_extra_byte(void **state)
{
	size_t n, at;

	for (n = 0; n < NUMBER_COUNT; n++) {
		struct leb128_reader reader = {0};

		for (at = 0; at < numbers[n].size; at++)
			assert_true(leb128_feed(&reader, numbers[n].bytes[at]));
		assert_false(leb128_feed(&reader, 0));
		assert_false(leb128_feed(&reader, 0x80));
		assert_true(reader.is_complete);
		assert_int_equal(reader.value, numbers[n].value);
	}
}

static void the_incremental_reader_begins_anew_after_a_reset(void **state)
{
	struct leb128_reader reader = {0};
	size_t n, at;

	assert_true(leb128_feed(&reader, 0xff)); /* left incomplete */
	for (n = 0; n < NUMBER_COUNT; n++) {
		reader = (struct leb128_reader){0};
		for (at = 0; at < numbers[n].size; at++)
			assert_true(leb128_feed(&reader, numbers[n].bytes[at]));
		assert_true(reader.is_complete);
		assert_int_equal(reader.value, numbers[n].value);
	}
}

static void the_incremental_reader_refuses_more_than_64_bits(void **state)
{
	struct leb128_reader reader = {0};
	size_t at;

	for (at = 0; at < 9; at++)
		assert_true(leb128_feed(&reader, 0xff));
	assert_false(leb128_feed(&reader, 0x02));
	assert_false(leb128_feed(&reader, 0x81));
	assert_false(reader.is_complete);
	assert_true(leb128_feed(&reader, 0x01));
	assert_int_equal(reader.value, UINT64_MAX);
}

static void every_power_of_two_and_its_neighbours_round_trip(void **state)
{
	unsigned int bit, off;

	for (bit = 0; bit < 64; bit++) {
		for (off = 0; off < 3; off++) {
			uint64_t wanted = (UINT64_C(1) << bit) + off - 1, value = ~wanted;
			uint8_t bytes[LEB128_MAX_BYTES_U64];
			const uint8_t *end = leb128_put(bytes, wanted);

			assert_ptr_equal(leb128_get(bytes, end, &value), end);
			assert_int_equal(value, wanted);
		}
	}
}

static void zigzag_keeps_small_numbers_small(void **state)
{
	static const int64_t values[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
	static const uint64_t coded[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};
	size_t n;

	for (n = 0; n < sizeof(values) / sizeof(values[0]); n++) {
		assert_true(zigzag(values[n]) == coded[n]);
		assert_true(unzigzag(coded[n]) == values[n]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_the_widest_types),
		cmocka_unit_test(known_numbers_have_exact_bytes),
		cmocka_unit_test(reading_advances_by_exactly_the_number),
		cmocka_unit_test(a_missing_byte_is_refused),
		cmocka_unit_test(more_than_64_bits_are_refused),
		cmocka_unit_test(the_incremental_reader_is_complete_at_the_last_byte),
		cmocka_unit_test(the_incremental_reader_refuses_an_extra_byte),
		cmocka_unit_test(the_incremental_reader_begins_anew_after_a_reset),
		cmocka_unit_test(the_incremental_reader_refuses_more_than_64_bits),
		cmocka_unit_test(every_power_of_two_and_its_neighbours_round_trip),
		cmocka_unit_test(zigzag_keeps_small_numbers_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
