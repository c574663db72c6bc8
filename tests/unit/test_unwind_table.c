/* SPDX-License-Identifier: BSD-2-Clause */
/* test_unwind_table.c - small images -> tables: pages, gaps, overlaps, signal frames, RBX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "table_fixture.h"

static void check_one_function(enum image_sections sections)
{
	struct frame_bytes frames = frames_for(2);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	put_fde(&frames, cie, TEXT + 0x100, 0x100, LITERAL("\x41\x0e\x10\x86\x02"));
	put_u32(&frames, 0);
	table = table_of(2, &frames, sections);
	assert_int_equal(table->first_page, TEXT >> UNWIND_PAGE_BITS);
	assert_int_equal(table->page_count, 2);
	assert_false(table->has_no_eh_frame);
	assert_false(table->tracks_reg);
	assert_int_equal(table->stats.fdes, 1);
	assert_int_equal(table->stats.rows_in, 2);
	assert_null(unwind_table_find(table, TEXT - 1));
	assert_null(unwind_table_find(table, 0));
	assert_null(unwind_table_find(table, UINT64_MAX));
	assert_cfa(table, TEXT, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0xff, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x100, GB_CFA_SP, 8);
	assert_cfa(table, TEXT + 0x101, GB_CFA_SP, 16);
	assert_int_equal(unwind_table_find(table, TEXT + 0x101)->fp, GB_FP_CFA);
	assert_int_equal(unwind_table_find(table, TEXT + 0x101)->fp_off, -16);
	assert_cfa(table, TEXT + 0x1ff, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x200, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x1fff, GB_CFA_FRAME_POINTER, 0);
	assert_null(unwind_table_find(table, TEXT + 0x2000));
	assert_int_equal(table->pages[0].count, 4);
	assert_int_equal(table->pages[1].count, 1);
	unwind_table_close(table);
}

static void test_found_by_section(void **state)
{
	check_one_function(IMAGE_WITH_SECTIONS);
}

static void test_found_without_sections(void **state)
{
	check_one_function(IMAGE_STRIPPED);
}

static void test_no_eh_frame(void **state)
{
	struct unwind_table *table = table_of(3, NULL, IMAGE_WITHOUT_FRAMES);

	assert_true(table->has_no_eh_frame);
	assert_int_equal(table->page_count, 3);
	assert_int_equal(table->row_count, 3);
	assert_cfa(table, TEXT, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x2fff, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
	unwind_table_close(NULL);
}

/* Padding belongs to the function before it; more than that is code that nobody has described. */
static void test_gaps(void **state)
{
	struct frame_bytes frames = frames_for(1);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	put_fde(&frames, cie, TEXT + 0x00, 0x11, LITERAL("\x0e\x10"));
	put_fde(&frames, cie, TEXT + 0x20, 0x10, LITERAL("\x0e\x18")); /* 15 bytes after */
	put_fde(&frames, cie, TEXT + 0x40, 0x10, LITERAL("\x0e\x20")); /* 16 bytes after */
	put_fde(&frames, cie, TEXT + 0x50, 0xfb0 - 15, LITERAL("\x0e\x28")); /* at once */
	table = table_of(1, &frames, IMAGE_WITH_SECTIONS);
	assert_cfa(table, TEXT + 0x1f, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x20, GB_CFA_SP, 24);
	assert_cfa(table, TEXT + 0x2f, GB_CFA_SP, 24);
	assert_cfa(table, TEXT + 0x30, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x3f, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x40, GB_CFA_SP, 32);
	assert_cfa(table, TEXT + 0x50, GB_CFA_SP, 40);
	assert_cfa(table, TEXT + 0xfff, GB_CFA_SP, 40);
	assert_int_equal(table->row_count, 5);
	unwind_table_close(table);
}

/* One function over three pages: its rule is repeated where a page begins. */
static void test_pages(void **state)
{
	struct frame_bytes frames = frames_for(4);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	/* advance_loc2 0x1000, and 0x1800 more. */
	put_fde(&frames, cie, TEXT, 0x3000, LITERAL("\x03\0\x10\x0e\x10\x03\0\x18\x0e\x18"));
	table = table_of(4, &frames, IMAGE_WITH_SECTIONS);
	assert_cfa(table, TEXT, GB_CFA_SP, 8);
	assert_cfa(table, TEXT + 0xfff, GB_CFA_SP, 8);
	assert_cfa(table, TEXT + 0x1000, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x27ff, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x2800, GB_CFA_SP, 24);
	assert_cfa(table, TEXT + 0x3000, GB_CFA_FRAME_POINTER, 0);
	assert_int_equal(table->row_count, 5);
	unwind_table_close(table);
}

static void test_unsorted_functions(void **state)
{
	struct frame_bytes frames = frames_for(2);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	put_fde(&frames, cie, TEXT + 0x1800, 0x10, LITERAL("\x0e\x10"));
	put_fde(&frames, cie, TEXT + 0x20, 0x10, LITERAL("\x0e\x18"));
	put_fde(&frames, cie, TEXT + 0x800, 0x10, LITERAL("\x0e\x20"));
	table = table_of(2, &frames, IMAGE_WITH_SECTIONS);
	assert_cfa(table, TEXT + 0x20, GB_CFA_SP, 24);
	assert_cfa(table, TEXT + 0x800, GB_CFA_SP, 32);
	assert_cfa(table, TEXT + 0x1800, GB_CFA_SP, 16);
	unwind_table_close(table);
}

/* The later one holds up to its end; of two at one place the second. */
static void test_overlapping_functions(void **state)
{
	struct frame_bytes frames = frames_for(1);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	put_fde(&frames, cie, TEXT, 0x100, LITERAL("\x0e\x10\x60\x0e\x18"));
	put_fde(&frames, cie, TEXT + 0x10, 0x20, LITERAL("\x0e\x20"));
	put_fde(&frames, cie, TEXT + 0x200, 0x20, LITERAL("\x0e\x28"));
	put_fde(&frames, cie, TEXT + 0x200, 0x10, LITERAL("\x0e\x30"));
	table = table_of(1, &frames, IMAGE_WITH_SECTIONS);
	assert_cfa(table, TEXT + 0x0f, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x10, GB_CFA_SP, 32);
	assert_cfa(table, TEXT + 0x2f, GB_CFA_SP, 32);
	assert_cfa(table, TEXT + 0x30, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, TEXT + 0x200, GB_CFA_SP, 48);
	assert_cfa(table, TEXT + 0x210, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
}

/* A row at every byte: 1,024 are too many for a page, 1,023 are not. */
static void check_dense_page(unsigned int rows, bool is_dense)
{
	struct frame_bytes frames = frames_for(2);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;
	char program[3 * 1024];
	unsigned int i;

	for (i = 0; i < rows - 1; i++)
		memcpy(program + 3 * i, i % 2 ? "\x41\x0e\x08" : "\x41\x0e\x10", 3);
	put_fde(&frames, cie, TEXT, 0x2000, program, 3ul * (rows - 1));
	table = table_of(2, &frames, IMAGE_WITH_SECTIONS);
	assert_int_equal(table->stats.dense_pages, is_dense);
	assert_int_equal(table->pages[0].count, is_dense ? 1 : rows);
	assert_cfa(table, TEXT, is_dense ? GB_CFA_FRAME_POINTER : GB_CFA_SP, is_dense ? 0 : 8);
	/* What holds goes on in the next page. */
	assert_cfa(table, TEXT + 0x1000, GB_CFA_SP, rows % 2 ? 8 : 16);
	unwind_table_close(table);
}

static void test_dense_pages(void **state)
{
	check_dense_page(1023, false);
	check_dense_page(1024, true);
}

/* ---- signal frames ---- */

#define SIGRETURN "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"
#define SIGRETURN_SHORT "\xb8\x0f\0\0\0\x0f\x05"

/* A function of `size` bytes whose code is at `at`, under a CIE with these letters; its table. */
static struct unwind_table *signal_table(const char *letters, uint64_t start, uint32_t size,
					 const char *code, size_t code_bytes)
{
	struct frame_bytes frames = frames_for(1);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table = NULL;
	struct elf_image image;

	put_fde(&frames, cie, TEXT, 0x80, LITERAL("\x0e\x10"));
	cie = put_cie(&frames, letters, PTR_PCREL | PTR_SDATA4, LITERAL(USUAL_PROGRAM));
	put_fde(&frames, cie, start, size, LITERAL("\x0f\x04\x77\xa0\x01\x06"));
	image_make(&image, 1, &frames, IMAGE_WITH_SECTIONS);
	memcpy(image.bytes + TEXT + 0x80, code, code_bytes);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	return table;
}

static void test_signal_frame(void **state)
{
	struct unwind_table *table;

	table = signal_table("zRS", TEXT + 0x80, 9, LITERAL(SIGRETURN));
	assert_cfa(table, TEXT + 0x7e, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x80, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x88, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x89, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
}

/* As in glibc: its description begins a byte before the code. */
static void test_signal_frame_that_begins_early(void **state)
{
	struct unwind_table *table;

	table = signal_table("zRS", TEXT + 0x7f, 10, LITERAL(SIGRETURN));
	assert_cfa(table, TEXT + 0x7e, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x88, GB_CFA_SIGNAL, 0);
	unwind_table_close(table);
}

/* Without "S", by its looks. */
static void test_signal_frame_by_sight(void **state)
{
	struct unwind_table *table;

	table = signal_table("zR", TEXT + 0x80, 9, LITERAL(SIGRETURN));
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x88, GB_CFA_SIGNAL, 0);
	unwind_table_close(table);
	table = signal_table("zR", TEXT + 0x80, 7, LITERAL(SIGRETURN_SHORT));
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SIGNAL, 0);
	assert_cfa(table, TEXT + 0x86, GB_CFA_SIGNAL, 0);
	unwind_table_close(table);
	/* Another system call. */
	table = signal_table("zR", TEXT + 0x80, 7, LITERAL("\xb8\x0e\0\0\0\x0f\x05"));
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x80, GB_CFA_SP_DEREF, 160);
	unwind_table_close(table);
}

/* As in musl: no description at all. */
static void test_signal_frame_without_description(void **state)
{
	static const uint64_t places[] = {TEXT, TEXT + 0x300, TEXT + 0x4000 - 4, TEXT + 0x8ff7};
	struct unwind_table *table = NULL;
	struct elf_image image;
	size_t i;

	image_make(&image, 9, NULL, IMAGE_WITHOUT_FRAMES);
	for (i = 0; i < 4; i++)
		memcpy(image.bytes + places[i], SIGRETURN, 9);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	for (i = 0; i < 4; i++) {
		if (i)
			assert_cfa(table, places[i] - 1, GB_CFA_SIGNAL, 0);
		if (i)
			assert_cfa(table, places[i] - 2, GB_CFA_FRAME_POINTER, 0);
		assert_cfa(table, places[i], GB_CFA_SIGNAL, 0);
		assert_cfa(table, places[i] + 8, GB_CFA_SIGNAL, 0);
		if (i < 3)
			assert_cfa(table, places[i] + 9, GB_CFA_FRAME_POINTER, 0);
	}
	unwind_table_close(table);
}

/* Of many small functions, whose code is read together as far as it lies together. */
static void test_signal_frames_among_small_functions(void **state)
{
	static const uint64_t places[] = {TEXT + 0x10,   TEXT + 0x100,  TEXT + 0x1009,
					  TEXT + 0x2000, TEXT + 0x2ff7, TEXT + 0x40};
	static const bool returns[] = {false, true, true, true, true, false};
	struct frame_bytes frames = frames_for(3);
	size_t cie = put_usual_cie(&frames), i;
	struct unwind_table *table = NULL;
	struct elf_image image;

	for (i = 0; i < 6; i++)
		put_fde(&frames, cie, places[i], 9, LITERAL("\x0e\x10"));
	image_make(&image, 3, &frames, IMAGE_WITH_SECTIONS);
	for (i = 0; i < 6; i++)
		if (returns[i])
			memcpy(image.bytes + places[i], SIGRETURN, 9);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	for (i = 0; i < 6; i++) {
		assert_cfa(table, places[i] - 1, returns[i] ? GB_CFA_SIGNAL : GB_CFA_FRAME_POINTER,
			   0);
		assert_cfa(table, places[i], returns[i] ? GB_CFA_SIGNAL : GB_CFA_SP,
			   returns[i] ? 0 : 16);
	}
	unwind_table_close(table);
}

/* Much code without a description leaves something of what is looked at to the code behind it. */
static void test_signal_frame_behind_much_code(void **state)
{
	const size_t pages = 0x600;
	const uint64_t described = TEXT + 0x500000, found = TEXT + 0x530000;
	struct frame_bytes frames = frames_for(pages);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table = NULL;
	struct elf_image image;

	put_fde(&frames, cie, described, 0x100, LITERAL("\x0e\x10"));
	image_make(&image, pages, &frames, IMAGE_WITH_SECTIONS);
	memcpy(image.bytes + found, SIGRETURN, 9);
	memcpy(image.bytes + described - 0x1000, SIGRETURN, 9); /* too far from the start */
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	assert_cfa(table, found, GB_CFA_SIGNAL, 0);
	assert_cfa(table, described - 0x1000, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
}

/* A segment may hold symbols and all; what they look like does not matter, and takes nothing from the search. */
static void test_signal_frame_in_code_only(void **state)
{
	const size_t pages = 0x500;
	const uint64_t code = TEXT + 0x400000;
	const Elf64_Shdr section = {.sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_EXECINSTR,
				    .sh_addr = code,
				    .sh_size = 0x1000};
	struct frame_bytes frames = frames_for(pages);
	struct unwind_table *table = NULL;
	struct elf_image image;

	put_usual_cie(&frames);
	image_make(&image, pages, &frames, IMAGE_WITH_SECTIONS);
	memcpy(image.bytes + IMAGE_SECTIONS, &section, sizeof(section));
	memcpy(image.bytes + TEXT, SIGRETURN, 9);
	memcpy(image.bytes + code + 0x20, SIGRETURN, 9);
	memcpy(image.bytes + code + 0x1000, SIGRETURN, 9);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	assert_cfa(table, TEXT, GB_CFA_FRAME_POINTER, 0);
	assert_cfa(table, code + 0x1f, GB_CFA_SIGNAL, 0);
	assert_cfa(table, code + 0x1000, GB_CFA_FRAME_POINTER, 0);
	unwind_table_close(table);
}

/* ---- what coroutines return to ---- */

#define START_CONTEXT "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74\x08\xe8\x0f\xf6\xfe\xff"

/* A libc, which has code that returns from signals, and a function of 32 bytes with `code`, described by `program`. */
static struct unwind_table *context_table(const char *letters, const char *program,
					  size_t program_bytes, const char *code, size_t code_bytes)
{
	struct frame_bytes frames = frames_for(1);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table = NULL;
	struct elf_image image;

	put_fde(&frames, cie, TEXT, 0x79, LITERAL("\x0e\x10"));
	put_fde(&frames, cie, TEXT + 0x80, 0x20, program, program_bytes);
	cie = put_cie(&frames, letters, PTR_PCREL | PTR_SDATA4, LITERAL(USUAL_PROGRAM));
	put_fde(&frames, cie, TEXT + 0x200, 9, LITERAL("\x0f\x04\x77\xa0\x01\x06"));
	image_make(&image, 1, &frames, IMAGE_WITH_SECTIONS);
	memcpy(image.bytes + TEXT + 0x80, code, code_bytes);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	return table;
}

static void test_start_of_coroutines(void **state)
{
	struct unwind_table *table = context_table("zRS", LITERAL("\0\0"), LITERAL(START_CONTEXT));

	assert_cfa(table, TEXT + 0x7e, GB_CFA_SP, 16);
	/* looked up for the return address, its first byte */
	assert_cfa(table, TEXT + 0x7f, GB_CFA_END, 0);
	assert_cfa(table, TEXT + 0x80, GB_CFA_END, 0);
	assert_cfa(table, TEXT + 0x9f, GB_CFA_END, 0);
	assert_cfa(table, TEXT + 0x200, GB_CFA_SIGNAL, 0);
	unwind_table_close(table);
	table = context_table("zRS", LITERAL("\0\0"), LITERAL("\xf3\x0f\x1e\xfa" START_CONTEXT));
	assert_cfa(table, TEXT + 0x7f, GB_CFA_END, 0);
	unwind_table_close(table);
}

static void test_not_the_start_of_coroutines(void **state)
{
	struct unwind_table *table;

	table = context_table("zR", LITERAL("\0\0"), LITERAL(START_CONTEXT)); /* not a libc */
	assert_cfa(table, TEXT + 0x80, GB_CFA_SP, 8);
	unwind_table_close(table);
	/* it has a frame */
	table = context_table("zRS", LITERAL("\x0e\x10"), LITERAL(START_CONTEXT));
	assert_cfa(table, TEXT + 0x80, GB_CFA_SP, 16);
	unwind_table_close(table);
	table = context_table("zRS", LITERAL("\0\0"), LITERAL("\x48\x89\xdc\xc3")); /* other code */
	assert_cfa(table, TEXT + 0x7f, GB_CFA_SP, 16);
	assert_cfa(table, TEXT + 0x80, GB_CFA_SP, 8);
	unwind_table_close(table);
}

/* ---- RBX ---- */

static void test_rbx_is_tracked_where_it_is_needed(void **state)
{
	struct frame_bytes frames = frames_for(1);
	size_t cie = put_usual_cie(&frames);
	struct unwind_table *table;

	put_fde(&frames, cie, TEXT, 0x10, LITERAL("\x41\x0e\x10\x83\x02"));
	table = table_of(1, &frames, IMAGE_WITH_SECTIONS);
	assert_false(table->tracks_reg);
	assert_int_equal(unwind_table_find(table, TEXT + 1)->tracked_off, 0);
	unwind_table_close(table);
	put_fde(&frames, cie, TEXT + 0x10, 0x10, LITERAL("\x0c\x03\x18\x83\x03"));
	table = table_of(1, &frames, IMAGE_WITH_SECTIONS);
	assert_true(table->tracks_reg);
	assert_int_equal(unwind_table_find(table, TEXT)->tracked_off, 0);
	assert_int_equal(unwind_table_find(table, TEXT + 1)->tracked_off, -16);
	assert_cfa(table, TEXT + 0x10, GB_CFA_REG, 24);
	assert_int_equal(unwind_table_find(table, TEXT + 0x10)->reg, GB_REG_RBX);
	assert_int_equal(unwind_table_find(table, TEXT + 0x10)->tracked_off, -24);
	unwind_table_close(table);
}

/* ---- memory ---- */

static int attempt(void *context)
{
	const struct elf_image *image = context;
	struct unwind_table *table = NULL;
	int err = compile_image(&table, image->bytes, image->size);

	unwind_table_close(table);
	return err;
}

static void test_failing_allocations(void **state)
{
	struct frame_bytes frames = some_frames(2);
	struct elf_image image;

	image_make(&image, 2, &frames, IMAGE_WITH_SECTIONS);
	/* Both builds, since RBX is needed. */
	assert_true(alloc_fail_each(attempt, &image) >= 25);
	image_free(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_by_section),
		cmocka_unit_test(test_found_without_sections),
		cmocka_unit_test(test_no_eh_frame),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_unsorted_functions),
		cmocka_unit_test(test_overlapping_functions),
		cmocka_unit_test(test_dense_pages),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_signal_frame_that_begins_early),
		cmocka_unit_test(test_signal_frame_by_sight),
		cmocka_unit_test(test_signal_frame_without_description),
		cmocka_unit_test(test_signal_frames_among_small_functions),
		cmocka_unit_test(test_signal_frame_behind_much_code),
		cmocka_unit_test(test_signal_frame_in_code_only),
		cmocka_unit_test(test_start_of_coroutines),
		cmocka_unit_test(test_not_the_start_of_coroutines),
		cmocka_unit_test(test_rbx_is_tracked_where_it_is_needed),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
