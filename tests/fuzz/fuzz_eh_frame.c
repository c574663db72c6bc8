/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_eh_frame.c - any bytes as a file for the table compiler.
 *
 * An input that begins with 0x7f is taken for a whole ELF file; any other is the .eh_frame of a small one, whose first
 * byte says how it is found. Whatever comes out must be a table that a search can trust.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/row_builder.h"
#include "unwind/table.h"

#include "../unwind_rule.h"

#define TEXT_AT 0x1000
#define TEXT_BYTES 0x4000
#define FRAMES_AT (TEXT_AT + TEXT_BYTES)
#define NAMES_AT 0x400
#define SECTIONS_AT 0x480
#define HDR_AT 0x200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_page(const struct unwind_table *table, uint32_t page, uint32_t *next)
{
	const struct unwind_page *rows = &table->pages[page];
	uint32_t i;

	if (rows->first != *next || !rows->count || rows->count > UNWIND_MAX_ROWS_PER_PAGE ||
	    rows->count > table->row_count - rows->first || ROW_OFFSET(table->rows[rows->first]))
		abort();
	for (i = rows->first; i < rows->first + rows->count; i++) {
		if (ROW_RULE(table->rows[i]) >= table->rule_count)
			abort();
		if (i > rows->first && ROW_OFFSET(table->rows[i]) <= ROW_OFFSET(table->rows[i - 1]))
			abort();
	}
	*next += rows->count;
}

static void check_table(const struct unwind_table *table)
{
	uint64_t begin = table->first_page << UNWIND_PAGE_BITS;
	uint64_t end = begin + ((uint64_t)table->page_count << UNWIND_PAGE_BITS);
	uint32_t page, next = 0;

	for (page = 0; page < table->page_count; page++)
		check_page(table, page, &next);
	if (next != table->row_count || !unwind_table_find(table, begin) ||
	    !unwind_table_find(table, end - 1) || unwind_table_find(table, begin - 1) ||
	    unwind_table_find(table, end))
		abort();
}

static void compile(const uint8_t *bytes, size_t size)
{
	struct unwind_source source = {.fd = -1, .image = bytes, .image_bytes = size};
	struct unwind_table *table;
	int err = unwind_table_compile(&table, &source);

	if (err && err != -ENOEXEC && err != -ENODATA && err != -EFBIG && err != -ENOMEM)
		abort();
	if (err)
		return;
	check_table(table);
	unwind_table_close(table);
}

static void put_headers(uint8_t *image, size_t size, int has_sections)
{
	const Elf64_Phdr segments[] = {
		{PT_LOAD, PF_R | PF_X, TEXT_AT, TEXT_AT, 0, TEXT_BYTES, TEXT_BYTES, 0x1000},
		{PT_LOAD, PF_R, FRAMES_AT, FRAMES_AT, 0, size, size, 0x1000},
		{PT_GNU_EH_FRAME, PF_R, HDR_AT, HDR_AT, 0, 16, 16, 4},
		{PT_LOAD, PF_R, 0, 0, 0, TEXT_AT, TEXT_AT, 0x1000},
	};
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(segments[0]),
		.e_phnum = sizeof(segments) / sizeof(segments[0]),
		.e_shoff = has_sections ? SECTIONS_AT : 0,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 1,
	};
	const Elf64_Shdr sections[3] = {
		[1] = {.sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = 11},
		[2] = {.sh_name = 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_addr = FRAMES_AT,
		       .sh_offset = FRAMES_AT,
		       .sh_size = size},
	};

	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), segments, sizeof(segments));
	memcpy(image + SECTIONS_AT, sections, sizeof(sections));
	memcpy(image + NAMES_AT, "\0.eh_frame", 11);
}

static void compile_frames(const uint8_t *frames, size_t size, int has_sections)
{
	const uint8_t hdr[4] = {1, 0x03, 0xff, 0xff}; /* udata4 */
	const uint32_t at = FRAMES_AT;
	uint8_t *image = calloc(1, FRAMES_AT + size);

	if (!image)
		return;
	put_headers(image, size, has_sections);
	memcpy(image + HDR_AT, hdr, sizeof(hdr));
	memcpy(image + HDR_AT + sizeof(hdr), &at, sizeof(at));
	if (size)
		memcpy(image + FRAMES_AT, frames, size);
	compile(image, FRAMES_AT + size);
	free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 0x7f)
		compile(data, size);
	else if (size)
		compile_frames(data + 1, size - 1, data[0] & 1);
	return 0;
}
