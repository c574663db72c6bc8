/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "format/json.h"
#include "base/deflater.h"
#include "base/number.h"

#include "alloc.h"

/* Text that was written; fails from the call number `fail_at` on. */
struct sheet {
	char text[400000];
	size_t length;
	unsigned int calls, fail_at;
};

static struct sheet sheet;

static int write_to_sheet(void *context, const void *data, size_t size)
{
	struct sheet *to = context;

	if (++to->calls >= to->fail_at && to->fail_at)
		return -ENOSPC;
	assert_true(to->length + size < sizeof(to->text));
	memcpy(to->text + to->length, data, size);
	to->length += size;
	to->text[to->length] = '\0';
	return 0;
}

static struct json *open_json(void)
{
	const struct json_sink sink = {.write = write_to_sheet, .context = &sheet};
	struct json *json;

	memset(&sheet, 0, sizeof(sheet));
	assert_int_equal(json_open(&json, &sink), 0);
	return json;
}

static void put_plain(struct json *json, char *bytes, size_t size)
{
	json_piece(json, &(struct piece){.bytes = bytes, .size = (uint32_t)size});
}

/* What was written up to now, and the end of `json`. */
static const char *text_of(struct json *json)
{
	assert_int_equal(json_flush(json), 0);
	json_close(json);
	return sheet.text;
}

static void assert_string(const char *bytes, size_t length, const char *expected)
{
	struct json *json = open_json();

	json_text_bytes(json, bytes, length);
	assert_string_equal(text_of(json), expected);
}

static void commas_and_brackets(void **state)
{
	struct json *json = open_json();

	json_object_begin(json);
	json_key(json, "a");
	json_array_begin(json);
	json_array_end(json);
	json_key(json, "b\n");
	json_array_begin(json);
	json_u64(json, 1);
	json_object_begin(json);
	json_object_end(json);
	json_none(json);
	json_array_begin(json);
	json_bool(json, true);
	json_bool(json, false);
	json_array_end(json);
	json_array_end(json);
	json_key_string(json, "c", "x");
	json_key_u64(json, "d", 7);
	json_key_time_ms(json, "e", 1500000);
	json_key_literal(json, "f", "{\"g\":[]}");
	json_key(json, "h");
	json_array_begin(json);
	put_plain(json, (char *)"[1],[2]", 7);
	json_array_end(json);
	json_object_end(json);
	assert_string_equal(text_of(json),
			    "{\"a\":[],\"b\\n\":[1,{},null,[true,false]],\"c\":\"x\","
			    "\"d\":7,\"e\":1.5,\"f\":{\"g\":[]},\"h\":[[1],[2]]}");
}

static void control_characters(void **state)
{
	static const char *const expected[32] = {
		"\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006",
		"\\u0007", "\\b",     "\\t",     "\\n",     "\\u000b", "\\f",     "\\r",
		"\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014",
		"\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b",
		"\\u001c", "\\u001d", "\\u001e", "\\u001f",
	};
	char quoted[16], c;

	for (c = 0; c < 32; c++) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", expected[(int)c]);
		assert_string(&c, 1, quoted);
	}
	assert_string("a\"b\\c/\x7f", 7, "\"a\\\"b\\\\c/\x7f\"");
	assert_string("", 0, "\"\"");
}

#define R "\xef\xbf\xbd"

static void utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		/* The first and last of each length. */
		{"\xc2\x80\xdf\xbf", "\"\xc2\x80\xdf\xbf\""},
		{"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
		 "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\""},
		{"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
		/* Continuation bytes alone, and bytes that are never there. */
		{"\x80\xbfz", "\"" R R "z\""},
		{"\xc0\xaf", "\"" R R "\""},
		{"\xc1\xbf", "\"" R R "\""},
		{"\xf5\x80\x80\x80", "\"" R R R R "\""},
		{"\xfe\xff", "\"" R R "\""},
		/* Overlong forms. */
		{"\xe0\x80\x80", "\"" R R R "\""},
		{"\xe0\x9f\xbf", "\"" R R R "\""},
		{"\xf0\x80\x80\x80", "\"" R R R R "\""},
		{"\xf0\x8f\xbf\xbf", "\"" R R R R "\""},
		/* Surrogates. */
		{"\xed\xa0\x80", "\"" R R R "\""},
		{"\xed\xbf\xbf", "\"" R R R "\""},
		{"\xed\xa0\x80\xed\xb0\x80", "\"" R R R R R R "\""},
		/* Above U+10FFFF. */
		{"\xf4\x90\x80\x80", "\"" R R R R "\""},
		/* Cut off: one for the whole part that could have gone on. */
		{"\xc2", "\"" R "\""},
		{"\xe2\x82", "\"" R "\""},
		{"\xe2\x82z", "\"" R "z\""},
		{"\xf0\x9f\x98", "\"" R "\""},
		{"\xf0\x9f\x98\n", "\"" R "\\n\""},
		{"\xf0\x9f\xc2\xa9", "\"" R "\xc2\xa9\""},
		{"a\xc3", "\"a" R "\""},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string(cases[i].in, strlen(cases[i].in), cases[i].out);
	/* The bytes after the end of a text are not looked at. */
	assert_string("\xe2\x82\xac", 2, "\"" R "\"");
}

static void integers(void **state)
{
	struct json *json = open_json();

	json_array_begin(json);
	json_u64(json, 0);
	json_u64(json, 9);
	json_u64(json, 10);
	json_u64(json, 99);
	json_u64(json, 100);
	json_u64(json, 12345);
	json_u64(json, UINT64_MAX);
	json_i64(json, INT64_MIN);
	json_i64(json, -1);
	json_i64(json, INT64_MAX);
	json_array_end(json);
	assert_string_equal(text_of(json), "[0,9,10,99,100,12345,9223372036854775807,"
					   "-9223372036854775808,-1,9223372036854775807]");
}

/* All numbers of digits, against printf. */
static void integers_of_all_lengths(void **state)
{
	uint64_t power = 1;
	char ours[32], theirs[32];
	int digits, off;

	for (digits = 1; digits <= 20; digits++, power *= 10) {
		for (off = -1; off <= 1; off++) {
			*number_put_u64(ours, power + (uint64_t)(int64_t)off) = '\0';
			snprintf(theirs, sizeof(theirs), "%llu",
				 (unsigned long long)(power + (uint64_t)(int64_t)off));
			assert_string_equal(ours, theirs);
		}
	}
	for (power = 1, digits = 0; digits < 64; digits++, power <<= 1) {
		*number_put_hex(ours, power) = '\0';
		snprintf(theirs, sizeof(theirs), "0x%llx", (unsigned long long)power);
		assert_string_equal(ours, theirs);
	}
	*number_put_hex(ours, 0) = '\0';
	assert_string_equal(ours, "0x0");
	*number_put_hex(ours, 0xffffffff81234567) = '\0';
	assert_string_equal(ours, "0xffffffff81234567");
}

static void times(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{0, "0"},
		{1, "0.000001"},
		{10, "0.00001"},
		{100000, "0.1"},
		{123456, "0.123456"},
		{999999, "0.999999"},
		{1000000, "1"},
		{1000001, "1.000001"},
		{10000000, "10"},
		{1000000000000, "1000000"},
		{9007199254740990, "9007199254.74099"},
		{1767225600123456789, "1767225600123.456789"},
		{INT64_MAX, "9223372036854.775807"},
		{-1, "-0.000001"},
		{-100000, "-0.1"},
		{-1000000, "-1"},
		{-9007199254740990, "-9007199254.74099"},
		{INT64_MIN, "-9223372036854.775808"},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct json *json = open_json();

		json_time_ms(json, cases[i].ns);
		assert_string_equal(text_of(json), cases[i].text);
	}
}

static void doubles(void **state)
{
	struct json *json = open_json();

	json_array_begin(json);
	json_double(json, 0);
	json_double(json, -0.0);
	json_double(json, -0.0001);
	json_double(json, 2.5);
	json_double(json, 0.1);
	json_double(json, -30.0004);
	json_double(json, 0.0005);
	json_double(json, NAN);
	json_double(json, INFINITY);
	json_double(json, -INFINITY);
	json_double(json, 1e300);
	json_array_end(json);
	assert_string_equal(text_of(json), "[0,0,0,2.5,0.1,-30,0.001,null,null,null,null]");
}

/* Pieces around the size of the buffer come out whole and in order. */
static void large_pieces(void **state)
{
	static char piece[70000];
	const size_t sizes[] = {1, 65535, 65536, 65537, 3, 70000, 65533};
	struct json *json = open_json();
	size_t i, k, at = 0;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(piece, 'a' + (int)i, sizes[i]);
		put_plain(json, piece, sizes[i]);
	}
	text_of(json);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (k = 0; k < sizes[i]; k++)
			assert_int_equal(sheet.text[at++], 'a' + (int)i);
	}
	assert_int_equal(at, sheet.length);
}

static void errors_stick(void **state)
{
	struct json *json = open_json();

	sheet.fail_at = 2;
	json_text(json, "one");
	assert_int_equal(json_flush(json), 0);
	json_text(json, "two");
	assert_int_equal(json_error(json), 0);
	assert_int_equal(json_flush(json), -ENOSPC);
	json_text(json, "three");
	assert_int_equal(json_flush(json), -ENOSPC);
	assert_int_equal(json_error(json), -ENOSPC);
	/* The sink is not asked again. */
	assert_int_equal(sheet.calls, 2);
	assert_string_equal(sheet.text, "\"one\"");
	json_close(json);
	json_close(NULL);
}

static int open_and_close(void *context)
{
	const struct json_sink sink = {.write = write_to_sheet, .context = &sheet};
	struct json *json = NULL;
	int err = json_open(&json, &sink);

	assert_true(!err == !!json);
	json_close(json);
	return err;
}

static void failing_allocations(void **state)
{
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_brackets),
		cmocka_unit_test(control_characters),
		cmocka_unit_test(utf8),
		cmocka_unit_test(integers),
		cmocka_unit_test(integers_of_all_lengths),
		cmocka_unit_test(times),
		cmocka_unit_test(doubles),
		cmocka_unit_test(large_pieces),
		cmocka_unit_test(errors_stick),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
