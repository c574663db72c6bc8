/* SPDX-License-Identifier: BSD-2-Clause */
/* table_fixture.h - unwind tables of images in memory. After cmocka.h. */
#ifndef GECKOBPF_TESTS_TABLE_FIXTURE_H
#define GECKOBPF_TESTS_TABLE_FIXTURE_H

#include "frame_fixture.h"
#include "unwind/row_builder.h"
#include "unwind/table.h"

#include "../unwind_rule.h"

#define TEXT IMAGE_TEXT

static inline int compile_image(struct unwind_table **table, const uint8_t *bytes, size_t size)
{
	struct unwind_source source = {.fd = -1, .image = bytes, .image_bytes = size};

	return unwind_table_compile(table, &source);
}

/* What every table must be, whatever it was made of. */
static inline void assert_sound(const struct unwind_table *table)
{
	uint32_t page, i, next = 0;

	assert_true(table->page_count > 0);
	for (page = 0; page < table->page_count; page++) {
		const struct unwind_page *rows = &table->pages[page];

		assert_int_equal(rows->first, next);
		assert_in_range(rows->count, 1, UNWIND_MAX_ROWS_PER_PAGE);
		assert_int_equal(ROW_OFFSET(table->rows[rows->first]), 0);
		for (i = rows->first; i < rows->first + rows->count; i++) {
			assert_true(ROW_RULE(table->rows[i]) < table->rule_count);
			if (i > rows->first)
				assert_true(ROW_OFFSET(table->rows[i]) >
					    ROW_OFFSET(table->rows[i - 1]));
		}
		next += rows->count;
	}
	assert_int_equal(next, table->row_count);
}

static inline struct unwind_table *table_of(size_t pages, const struct frame_bytes *frames,
					    enum image_sections sections)
{
	struct unwind_table *table = NULL;
	struct elf_image image;

	image_make(&image, pages, frames, sections);
	assert_int_equal(compile_image(&table, image.bytes, image.size), 0);
	image_free(&image);
	assert_sound(table);
	return table;
}

static inline struct frame_bytes frames_for(size_t pages)
{
	return (struct frame_bytes){.address = image_frames_at(pages)};
}

static inline void assert_cfa(const struct unwind_table *table, uint64_t address, uint8_t cfa,
			      int offset)
{
	const struct gb_unwind_rule *rule = unwind_table_find(table, address);

	assert_non_null(rule);
	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->cfa_off, offset);
}

/* Three functions, not sorted, one of which needs RBX and one that is a signal frame. */
static inline struct frame_bytes some_frames(size_t pages)
{
	struct frame_bytes frames = frames_for(pages);
	size_t cie = put_usual_cie(&frames);

	put_fde(&frames, cie, TEXT + 0x800, 0x900,
		LITERAL("\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\xa0"
			"\x0a\x0c\x07\x08\x41\x0b"));
	put_fde(&frames, cie, TEXT + 0x40, 0x20, LITERAL("\x0c\x03\x10\x83\x02"));
	cie = put_cie(&frames, "zRS", PTR_PCREL | PTR_SDATA4, LITERAL(USUAL_PROGRAM));
	put_fde(&frames, cie, TEXT + 0x100, 0x9, LITERAL("\x0f\x04\x77\xa0\x01\x06"));
	put_u32(&frames, 0);
	return frames;
}

#endif
