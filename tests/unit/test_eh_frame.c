/* SPDX-License-Identifier: BSD-2-Clause */
/* test_eh_frame.c - records of .eh_frame: cursor, pointers, CIEs, FDEs and their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "frame_fixture.h"
#include "unwind/eh_frame.h"
#include "unwind/fde_order.h"

#define TEXT 0x400000ull
#define TEXT_BYTES 0x10000ull
#define FRAMES 0x500000ull

static int scan_at(struct eh_frame *frame, const uint8_t *bytes, size_t size)
{
	*frame = (struct eh_frame){
		.bytes = bytes,
		.size = size,
		.address = FRAMES,
		.text = TEXT,
		.text_bytes = TEXT_BYTES,
	};
	return eh_frame_scan(frame);
}

static int scan(struct eh_frame *frame, const struct frame_bytes *bytes)
{
	return scan_at(frame, bytes->data, bytes->size);
}

static struct frame_bytes no_bytes(void)
{
	return (struct frame_bytes){.address = FRAMES};
}

/* ---- cursor ---- */

static void test_leb128(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x7f, 0xe5, 0x8e, 0x26, 0x80, 0x80, 0x00, 0x80};
	struct cursor cursor = cursor_over(bytes, sizeof(bytes));
	uint64_t value = 7;

	assert_true(cursor_uleb(&cursor, &value));
	assert_int_equal(value, 0);
	assert_true(cursor_uleb(&cursor, &value));
	assert_int_equal(value, 127);
	assert_true(cursor_uleb(&cursor, &value));
	assert_int_equal(value, 624485);
	assert_true(cursor_uleb(&cursor, &value));
	assert_int_equal(value, 0);
	/* The last one is cut off. */
	assert_false(cursor_uleb(&cursor, &value));
	assert_int_equal(cursor_left(&cursor), 1);
}

static int64_t sleb_of(const char *bytes, size_t size)
{
	struct cursor cursor = cursor_over((const uint8_t *)bytes, size);
	int64_t value = 0;

	assert_true(cursor_sleb(&cursor, &value));
	assert_int_equal(cursor_left(&cursor), 0);
	return value;
}

static void test_signed_leb128(void **state)
{
	assert_int_equal(sleb_of(LITERAL("\x02")), 2);
	assert_int_equal(sleb_of(LITERAL("\x7e")), -2);
	assert_int_equal(sleb_of(LITERAL("\xff\x00")), 127);
	assert_int_equal(sleb_of(LITERAL("\x81\x7f")), -127);
	assert_int_equal(sleb_of(LITERAL("\x80\x7f")), -128);
	assert_true(sleb_of(LITERAL("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f")) == INT64_MIN);
	assert_true(sleb_of(LITERAL("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00")) == INT64_MAX);
}

static void test_fixed_sizes(void **state)
{
	static const uint8_t bytes[] = {0xfe, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd,
					0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct cursor cursor = cursor_over(bytes, sizeof(bytes));
	uint64_t value;

	assert_true(cursor_fixed(&cursor, 2, true, &value));
	assert_true((int64_t)value == -2);
	assert_true(cursor_fixed(&cursor, 4, false, &value));
	assert_int_equal(value, 0xfffffffe);
	assert_true(cursor_fixed(&cursor, 8, true, &value));
	assert_true((int64_t)value == -3);
	assert_false(cursor_fixed(&cursor, 1, true, &value));
	assert_false(cursor_fixed(&cursor, 3, true, &value));
}

/* ---- pointers ---- */

static bool pointer_of(const char *bytes, size_t size, uint8_t encoding, uint64_t *value)
{
	const uint8_t *data = (const uint8_t *)bytes;
	struct cursor cursor = cursor_over(data, size);
	struct pointer_base base = {data, 0x1001};

	return pointer_read(&cursor, encoding, &base, value) && !cursor_left(&cursor);
}

static void test_pointer_encodings(void **state)
{
	uint64_t value;

	assert_true(pointer_of(LITERAL("\1\0\0\0\0\0\0\x80"), PTR_ABSPTR, &value));
	assert_true(value == 0x8000000000000001);
	assert_true(pointer_of(LITERAL("\xfe\xff"), PTR_UDATA2, &value));
	assert_int_equal(value, 0xfffe);
	assert_true(pointer_of(LITERAL("\xfe\xff"), PTR_SDATA2, &value));
	assert_true(value == (uint64_t)-2);
	assert_true(pointer_of(LITERAL("\xfe\xff\xff\xff"), PTR_UDATA4, &value));
	assert_int_equal(value, 0xfffffffe);
	assert_true(pointer_of(LITERAL("\xfe\xff\xff\xff"), PTR_PCREL | PTR_SDATA4, &value));
	assert_int_equal(value, 0x1001 - 2);
	assert_true(pointer_of(LITERAL("\2\0\0\0\0\0\0\0"), PTR_PCREL | PTR_UDATA8, &value));
	assert_int_equal(value, 0x1003);
	assert_true(pointer_of(LITERAL("\x80\x01"), PTR_ULEB128, &value));
	assert_int_equal(value, 128);
	assert_true(pointer_of(LITERAL("\x7f"), PTR_PCREL | PTR_SLEB128, &value));
	assert_int_equal(value, 0x1000);
	/* From 0x1001, seven bytes lead to 0x1008. */
	assert_true(pointer_of(LITERAL("xxxxxxx\5\0\0\0\0\0\0\0"), PTR_ALIGNED, &value));
	assert_int_equal(value, 5);
}

static void test_pointers_that_lead_nowhere(void **state)
{
	uint64_t value;

	assert_false(pointer_of(LITERAL("\1\0\0\0"), PTR_INDIRECT | PTR_UDATA4, &value));
	assert_false(pointer_of(LITERAL("\1\0\0\0"), 0x20 | PTR_UDATA4, &value));
	assert_false(pointer_of(LITERAL("\1\0\0\0"), 0x30 | PTR_UDATA4, &value));
	assert_false(pointer_of(LITERAL("\1\0\0\0"), 0x40 | PTR_UDATA4, &value));
	assert_false(pointer_of(LITERAL("\1\0\0\0"), 0x05, &value));
	assert_false(pointer_of(LITERAL("\1\0\0\0"), PTR_OMIT, &value));
	assert_false(pointer_of(LITERAL("\1\0\0"), PTR_UDATA4, &value));
	assert_false(pointer_of(LITERAL("xxxxxx"), PTR_ALIGNED, &value));
}

/* ---- records ---- */

static void test_usual_records(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);
	struct eh_frame frame;

	put_fde(&bytes, cie, TEXT + 0x100, 0x20, LITERAL("\x41\x0e\x10"));
	put_fde(&bytes, cie, TEXT + 0x80, 0x30, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.cie_count, 1);
	assert_int_equal(frame.cies[0].offset, 0);
	assert_int_equal(frame.cies[0].code_align, 1);
	assert_int_equal(frame.cies[0].data_align, -8);
	assert_int_equal(frame.cies[0].ra_column, 16);
	assert_int_equal(frame.cies[0].encoding, PTR_PCREL | PTR_SDATA4);
	assert_false(frame.cies[0].is_signal);
	assert_false(frame.cies[0].is_bad);
	assert_int_equal(frame.cies[0].program_bytes, 5);
	assert_memory_equal(bytes.data + frame.cies[0].program, USUAL_PROGRAM, 5);
	assert_int_equal(frame.seen, 2);
	assert_int_equal(frame.bad, 0);
	assert_int_equal(frame.fde_count, 2);
	assert_int_equal(frame.fdes[0].start, 0x100);
	assert_int_equal(frame.fdes[0].size, 0x20);
	assert_int_equal(frame.fdes[0].cie, 0);
	assert_int_equal(frame.fdes[0].program_bytes, 3);
	assert_memory_equal(bytes.data + frame.fdes[0].program, "\x41\x0e\x10", 3);
	assert_int_equal(frame.fdes[1].start, 0x80);
	assert_int_equal(frame.fdes[1].program_bytes, 0);
	eh_frame_close(&frame);
}

static void test_all_letters(void **state)
{
	struct frame_bytes bytes = no_bytes();
	struct eh_frame frame;
	size_t cie = begin_cie(&bytes, "zPLRSB");

	put_uleb(&bytes, 9);
	put_u8(&bytes, PTR_INDIRECT | PTR_PCREL | PTR_SDATA4); /* P */
	put_u32(&bytes, 0x1234);
	put_u8(&bytes, PTR_PCREL | PTR_SDATA4); /* L */
	put_u8(&bytes, PTR_UDATA4); /* R */
	put_raw(&bytes, LITERAL("??")); /* more than is asked for */
	put_raw(&bytes, LITERAL(USUAL_PROGRAM));
	end_record(&bytes);
	begin_fde(&bytes, cie);
	put_u32(&bytes, TEXT);
	put_u32(&bytes, 16);
	put_uleb(&bytes, 4);
	put_u32(&bytes, 0); /* where its exceptions are handled */
	put_u8(&bytes, CFA_NOP);
	end_record(&bytes);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_false(frame.cies[0].is_bad);
	assert_true(frame.cies[0].is_signal);
	assert_int_equal(frame.cies[0].encoding, PTR_UDATA4);
	assert_int_equal(frame.cies[0].program_bytes, 5);
	assert_int_equal(frame.fde_count, 1);
	assert_int_equal(frame.fdes[0].start, 0);
	assert_int_equal(frame.fdes[0].program_bytes, 1);
	eh_frame_close(&frame);
}

/* One CIE with these letters, then 4 bytes of data and a program of 3; what becomes of it. */
static struct cie cie_with(const char *letters, uint8_t version)
{
	struct frame_bytes bytes = no_bytes();
	struct eh_frame frame;
	struct cie cie;

	begin_cie(&bytes, letters);
	bytes.data[8] = version;
	put_raw(&bytes, LITERAL("\3\x1b\0\0\x0e\x08\0"));
	end_record(&bytes);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.cie_count, 1);
	cie = frame.cies[0];
	eh_frame_close(&frame);
	return cie;
}

static void test_augmentations_that_are_not_known(void **state)
{
	struct cie cie;

	/* With "z" what is unknown can be skipped, and with it what comes after. */
	cie = cie_with("zR?S", 1);
	assert_false(cie.is_bad);
	assert_false(cie.is_signal);
	assert_int_equal(cie.encoding, 0x1b);
	assert_int_equal(cie.program_bytes, 3);
	assert_true(cie_with("R", 1).is_bad);
	assert_true(cie_with("?z", 1).is_bad);
	/* None at all: pointers are plain addresses, the program begins at once. */
	cie = cie_with("", 1);
	assert_false(cie.is_bad);
	assert_int_equal(cie.encoding, PTR_ABSPTR);
	assert_false(cie.has_lengths);
	assert_int_equal(cie.program_bytes, 7);
}

static void test_versions(void **state)
{
	assert_false(cie_with("zR", 3).is_bad);
	assert_true(cie_with("zR", 2).is_bad);
	assert_true(cie_with("zR", 5).is_bad);
}

static void test_version_4(void **state)
{
	struct frame_bytes bytes = no_bytes();
	struct eh_frame frame;

	begin_record(&bytes);
	put_u32(&bytes, 0);
	/* version, "", sizes of addresses and segments, alignments, column as LEB128 */
	put_raw(&bytes, LITERAL("\4\0\x08\0\2\x7c\x90\x01\x0c\x07\x08"));
	end_record(&bytes);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_false(frame.cies[0].is_bad);
	assert_int_equal(frame.cies[0].code_align, 2);
	assert_int_equal(frame.cies[0].data_align, -4);
	assert_int_equal(frame.cies[0].ra_column, 144);
	assert_int_equal(frame.cies[0].program_bytes, 3);
	eh_frame_close(&frame);
}

static void test_old_eh_augmentation(void **state)
{
	struct frame_bytes bytes = no_bytes();
	struct eh_frame frame;

	begin_record(&bytes);
	put_u32(&bytes, 0);
	put_raw(&bytes, LITERAL("\1eh\0"
				"pointer."
				"\1\x78\x10"
				"\x0c\x07\x08"));
	end_record(&bytes);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_false(frame.cies[0].is_bad);
	assert_int_equal(frame.cies[0].data_align, -8);
	assert_int_equal(frame.cies[0].program_bytes, 3);
	eh_frame_close(&frame);
}

/* The length of a record in 12 bytes; what it refers to stays 4 bytes long. */
static void test_long_lengths(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);
	struct eh_frame frame;

	put_u32(&bytes, 0xffffffff);
	put_u64(&bytes, 4 + 8 + 1 + 2);
	put_u32(&bytes, (uint32_t)(bytes.size - cie));
	put_u32(&bytes, (uint32_t)(TEXT + 0x40 - FRAMES - bytes.size));
	put_u32(&bytes, 0x10);
	put_raw(&bytes, LITERAL("\0\x0e\x10"));
	put_fde(&bytes, cie, TEXT + 0x60, 4, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.fde_count, 2);
	assert_int_equal(frame.fdes[0].start, 0x40);
	assert_int_equal(frame.fdes[0].size, 0x10);
	assert_int_equal(frame.fdes[0].program_bytes, 2);
	assert_int_equal(frame.fdes[1].start, 0x60);
	eh_frame_close(&frame);
}

static void test_long_length_that_overflows(void **state)
{
	struct frame_bytes bytes = no_bytes();
	struct eh_frame frame;

	put_usual_cie(&bytes);
	put_u32(&bytes, 0xffffffff);
	put_u64(&bytes, UINT64_MAX);
	put_u32(&bytes, 0);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.cie_count, 1);
	assert_int_equal(frame.fde_count, 0);
	eh_frame_close(&frame);
}

static void test_several_cies(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cies[3], i;
	struct eh_frame frame;

	for (i = 0; i < 3; i++)
		cies[i] = put_usual_cie(&bytes);
	for (i = 0; i < 3; i++)
		put_fde(&bytes, cies[i], TEXT + 16 * i, 16, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.cie_count, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(frame.fdes[i].cie, i);
	eh_frame_close(&frame);
}

static void test_fdes_that_make_no_sense(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);
	size_t bad_cie = begin_cie(&bytes, "R");
	struct eh_frame frame;

	end_record(&bytes);
	put_fde(&bytes, cie + 4, TEXT, 16, LITERAL("")); /* no CIE begins there */
	put_fde(&bytes, bytes.size + 64, TEXT, 16, LITERAL("")); /* after itself */
	put_fde(&bytes, bad_cie, TEXT, 16, LITERAL(""));
	put_fde(&bytes, cie, TEXT - 1, 16, LITERAL(""));
	put_fde(&bytes, cie, TEXT + TEXT_BYTES, 16, LITERAL(""));
	put_fde(&bytes, cie, TEXT, 0, LITERAL(""));
	begin_fde(&bytes, cie); /* ends in its range */
	put_u32(&bytes, 0);
	end_record(&bytes);
	begin_fde(&bytes, cie); /* augmentation longer than the record */
	put_u64(&bytes, 0);
	put_uleb(&bytes, 2);
	put_u8(&bytes, 0);
	end_record(&bytes);
	put_fde(&bytes, cie, TEXT + 64, 16, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.seen, 9);
	assert_int_equal(frame.bad, 8);
	assert_int_equal(frame.fde_count, 1);
	assert_int_equal(frame.fdes[0].start, 64);
	eh_frame_close(&frame);
}

static void test_function_past_the_text(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);
	struct eh_frame frame;

	put_fde(&bytes, cie, TEXT + TEXT_BYTES - 4, 0xffffffff, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.fde_count, 1);
	assert_int_equal(frame.fdes[0].size, 4);
	eh_frame_close(&frame);
}

/* Linkers put one at the end, but where startup files come in another order it is in the middle. */
static void test_zero_word(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);
	struct eh_frame frame;

	put_fde(&bytes, cie, TEXT, 16, LITERAL(""));
	put_u32(&bytes, 0);
	put_fde(&bytes, cie, TEXT + 16, 16, LITERAL(""));
	put_u32(&bytes, 0);
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.fde_count, 2);
	eh_frame_close(&frame);
	frame = (struct eh_frame){
		.bytes = bytes.data,
		.size = bytes.size,
		.address = FRAMES,
		.is_open_ended = true,
		.text = TEXT,
		.text_bytes = TEXT_BYTES,
	};
	assert_int_equal(eh_frame_scan(&frame), 0);
	assert_int_equal(frame.fde_count, 1);
	eh_frame_close(&frame);
}

/* Copies of exactly that size, so that a sanitizer sees every byte too many. */
static void test_cut_short_anywhere(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes), size, fde = bytes.size;

	put_fde(&bytes, cie, TEXT, 16, LITERAL("\x41\x0e\x10"));
	for (size = 0; size <= bytes.size; size++) {
		uint8_t *copy = malloc(size + !size);
		struct eh_frame frame;

		assert_non_null(copy);
		memcpy(copy, bytes.data, size);
		assert_int_equal(scan_at(&frame, copy, size), 0);
		assert_int_equal(frame.cie_count, size >= fde);
		assert_int_equal(frame.fde_count, size == bytes.size);
		eh_frame_close(&frame);
		free(copy);
	}
}

/* ---- order ---- */

static void assert_order(const uint64_t *starts, const uint32_t *expected, size_t count)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes), i;
	struct eh_frame frame;
	uint64_t *order;

	for (i = 0; i < count; i++)
		put_fde(&bytes, cie, TEXT + starts[i], 1, LITERAL(""));
	assert_int_equal(scan(&frame, &bytes), 0);
	assert_int_equal(frame.fde_count, count);
	assert_int_equal(fde_order_make(&frame, &order), 0);
	for (i = 0; i < count; i++)
		assert_int_equal(fde_order_index(order[i]), expected[i]);
	free(order);
	eh_frame_close(&frame);
}

static void test_order(void **state)
{
	assert_order(NULL, NULL, 0);
	assert_order((uint64_t[]){1, 2, 3}, (uint32_t[]){0, 1, 2}, 3);
	assert_order((uint64_t[]){3, 2, 1}, (uint32_t[]){2, 1, 0}, 3);
	/* In both digits, and equal ones as they come. */
	assert_order((uint64_t[]){0xf001, 0x0fff, 0xf000, 0x0fff, 0, 0x800},
		     (uint32_t[]){4, 5, 1, 3, 2, 0}, 6);
}

/* More is out of order within equal upper bits than is worth moving one by one. */
static void test_order_of_a_crowd(void **state)
{
	uint64_t starts[64];
	uint32_t expected[64];
	size_t i;

	for (i = 0; i < 64; i++) {
		starts[i] = i < 32 ? 0xf003 : 0xf000;
		expected[i] = (uint32_t)(i + 32) % 64;
	}
	assert_order(starts, expected, 64);
	starts[5] = 0x0102;
	for (i = 0; i < 64; i++)
		expected[i] = (uint32_t)(i < 33 ? i + 31 : i < 38 ? i - 33 : i - 32);
	expected[0] = 5;
	assert_order(starts, expected, 64);
}

static int attempt(void *context)
{
	struct eh_frame frame;
	uint64_t *order = NULL;
	int err = scan(&frame, context);

	if (!err)
		err = fde_order_make(&frame, &order);
	free(order);
	eh_frame_close(&frame);
	return err;
}

static void test_failing_allocations(void **state)
{
	struct frame_bytes bytes = no_bytes();
	size_t cie = put_usual_cie(&bytes);

	put_fde(&bytes, cie, TEXT + 16, 16, LITERAL(""));
	put_fde(&bytes, cie, TEXT, 16, LITERAL(""));
	/* FDEs, CIEs, the order. */
	assert_int_equal(alloc_fail_each(attempt, &bytes), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leb128),
		cmocka_unit_test(test_signed_leb128),
		cmocka_unit_test(test_fixed_sizes),
		cmocka_unit_test(test_pointer_encodings),
		cmocka_unit_test(test_pointers_that_lead_nowhere),
		cmocka_unit_test(test_usual_records),
		cmocka_unit_test(test_all_letters),
		cmocka_unit_test(test_augmentations_that_are_not_known),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_version_4),
		cmocka_unit_test(test_old_eh_augmentation),
		cmocka_unit_test(test_long_lengths),
		cmocka_unit_test(test_long_length_that_overflows),
		cmocka_unit_test(test_several_cies),
		cmocka_unit_test(test_fdes_that_make_no_sense),
		cmocka_unit_test(test_function_past_the_text),
		cmocka_unit_test(test_zero_word),
		cmocka_unit_test(test_cut_short_anywhere),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_of_a_crowd),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
