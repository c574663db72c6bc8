/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of Go's code, from tables made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "go_fixture.h"
#include "unwind/go_lines.h"

#define DESCRIPTION (FUNCTIONS + (FUNCTIONS_MAX + 1) * 8)
#define FILES 0x600
#define UNITS 0x700
/* From -1 on: 7 for 16 bytes; 9 for 32; 8 for 16. (Zigzag: 2 n, or -2 n - 1.) */
#define LINES "\x10\x10\x04\x20\x01\x10"
/* The file 0 all along. */
#define ONE_FILE "\x02\x40"
/* No call for 16 bytes; the call 0 for 32; none for 16. */
#define CALLS "\x00\x10\x02\x20\x01\x10"

static uint32_t add_values(const char *values, size_t size)
{
	uint32_t at = file.values;

	put(VALUES + at, values, size);
	file.values += (uint32_t)size;
	return at;
}

#define ADD_VALUES(values) add_values(values, sizeof(values))

/* One function of 64 bytes, in the second file of the second unit, and nothing inlined into it. */
static void make(bool has_lines)
{
	begin(has_lines);
	file.values = 1; /* 0 is none */
	ADD("main.first", 0, 64, FRAME_OF_24);
	put_u64(40, UNITS);
	put_u64(48, FILES);
	put(FILES, "a.go\0/b/c.go\0d.go", 18);
	put_u32(UNITS + 4 * 3, 5);
	put_u32(UNITS + 4 * 4, 13);
	put_u32(DESCRIPTION + 20, ADD_VALUES(ONE_FILE));
	put_u32(DESCRIPTION + 24, ADD_VALUES(LINES));
	put_u32(DESCRIPTION + 28, 3);
	put_u32(DESCRIPTION + 32, 3);
}

static void assert_line(uint32_t offset, uint32_t want)
{
	struct go_line line;

	assert_true(go_line_find(&go, BASE + offset, &line));
	assert_string_equal(line.file, "/b/c.go");
	assert_int_equal(line.line, want);
}

static void open_table(void)
{
	assert_int_equal(go_code_open(&go, &code, TEXT, TEXT_BYTES), 0);
}

static void test_lines(void **state)
{
	struct go_line line;
	int has_lines;

	for (has_lines = 0; has_lines < 2; has_lines++) {
		make(has_lines);
		open_table();
		assert_line(0, 7);
		assert_line(15, 7);
		assert_line(16, 9);
		assert_line(47, 9);
		assert_line(48, 8);
		assert_line(63, 8);
		assert_false(go_line_find(&go, BASE + 64, &line));
		assert_false(go_line_find(&go, UINT64_MAX, &line));
		go_code_close(&go);
		assert_false(go_line_find(&go, BASE, &line));
	}
}

/* The line there is one of the function that was called. */
static void test_inlined(void **state)
{
	int has_lines;

	for (has_lines = 0; has_lines < 2; has_lines++) {
		make(has_lines);
		put_u32(DESCRIPTION + (has_lines ? 44 : 40) + 8, ADD_VALUES(CALLS));
		open_table();
		assert_line(0, 7);
		assert_line(16, 0);
		assert_line(47, 0);
		assert_line(48, 8);
		go_code_close(&go);
	}
}

/* It begins with code that was inlined, of another file. */
static void test_inlined_first(void **state)
{
	make(true);
	put_u32(DESCRIPTION + 20, ADD_VALUES("\x04\x10\x01\x30")); /* 1, then 0 */
	put_u32(DESCRIPTION + 44 + 8, ADD_VALUES("\x02\x10\x01\x30"));
	open_table();
	assert_line(0, 0);
	assert_line(16, 9);
	go_code_close(&go);
}

/* All of it is another function's: which file its own is, nobody says. */
static void test_all_inlined(void **state)
{
	struct go_line line;

	make(true);
	put_u32(DESCRIPTION + 44 + 8, ADD_VALUES(ONE_FILE));
	open_table();
	assert_false(go_line_find(&go, BASE, &line));
	go_code_close(&go);
}

/* Offsets that lead nowhere: the lines are missing, or the file is. */
static void test_bad(void **state)
{
	const struct {
		uint32_t at, value;
		bool has_file;
	} bad[] = {
		{DESCRIPTION + 20, 0, false},
		{DESCRIPTION + 20, NOT_THERE, false},
		{DESCRIPTION + 24, 0, true},
		{DESCRIPTION + 24, NOT_THERE, true},
		{DESCRIPTION + 32, 2, false},
		{DESCRIPTION + 32, NOT_THERE, false},
		{UNITS + 4 * 3, NOT_THERE, false},
		{DESCRIPTION + 44 + 8, NOT_THERE, false},
		{40, NOT_THERE, false},
		{48, NOT_THERE, false},
	};
	struct go_line line;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make(true);
		put_u32(UNITS + 4 * 2, 4); /* an empty name */
		put_u32(bad[i].at, bad[i].value);
		open_table();
		assert_int_equal(go_line_find(&go, BASE, &line), bad[i].has_file);
		if (bad[i].has_file)
			assert_int_equal(line.line, 0);
		go_code_close(&go);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),         cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_inlined_first), cmocka_unit_test(test_all_inlined),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
