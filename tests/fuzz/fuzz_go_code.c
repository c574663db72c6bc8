/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_go_code.c - any bytes as the table of a Go program, and as its code.
 *
 * The header's magic number, its sizes and the start of the text are put right, since nothing would come of nearly all
 * others. Rows must be as a table needs them, whatever they say.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "unwind/go_code.h"
#include "unwind/go_lines.h"
#include "unwind/table.h"

#define TEXT 0x401000ULL
#define PAGES 4
#define TEXT_BYTES (PAGES << UNWIND_PAGE_BITS)
#define HEADER_BYTES 72

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct row_builder *builder, const struct rule_set *rules)
{
	uint32_t page, i, next = 0;

	for (page = 0; page < PAGES; page++) {
		const struct unwind_page *rows = &builder->pages[page];

		if (rows->first != next || !rows->count || ROW_OFFSET(builder->rows[next]))
			abort();
		next += rows->count;
		for (i = rows->first; i < next; i++)
			if (ROW_RULE(builder->rows[i]) >= rules->count ||
			    (i > rows->first &&
			     ROW_OFFSET(builder->rows[i]) <= ROW_OFFSET(builder->rows[i - 1])))
				abort();
	}
}

/* In two pieces, the first of which ends at `middle`. */
static void build(struct go_code *go, uint32_t middle)
{
	struct row_builder builder;
	struct rule_set rules;

	go_code_rewind(go, middle & 1);
	if (rule_set_open(&rules) || row_builder_open(&builder, PAGES, 0, RULE_FRAME_POINTER))
		abort();
	if (middle <= go->start || middle >= go->end)
		middle = go->end;
	if (go_code_add(go, go->start, middle, &builder, &rules) ||
	    (middle < go->end && go_code_add(go, middle, go->end, &builder, &rules)) ||
	    row_builder_finish(&builder))
		abort();
	check(&builder, &rules);
	row_builder_close(&builder);
	rule_set_close(&rules);
}

/* Every byte of the code is in a function, whose name has an end; so have the names of files. */
static void find_all(const struct go_code *go)
{
	struct go_function_name found;
	struct go_line line;
	uint64_t offset;

	for (offset = go->start; offset < go->end; offset++)
		if (!go_code_find(go, offset, &found) || offset < found.start ||
		    offset >= found.end || (found.name && !strlen(found.name)))
			abort();
	for (offset = 0; offset < TEXT_BYTES; offset += 61)
		if (go_line_find(go, offset, &line) && !strlen(line.file))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size + HEADER_BYTES);
	struct elf_file file = {.fd = -1, .image = (const char *)bytes, .size = size};
	struct unwind_segment segment = {.address = TEXT, .bytes = size, .is_code = true};
	struct elf_code code = {.file = &file,
				.segments = &segment,
				.segment_count = 1,
				.go_functions = {.bytes = size}};
	uint64_t text = TEXT;
	struct go_code go;

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	if (size >= HEADER_BYTES) {
		memcpy(bytes, size & 1 ? "\xf0\xff\xff\xff\0\0\1\10" : "\xf1\xff\xff\xff\0\0\1\10",
		       8);
		memcpy(bytes + 24, &text, sizeof(text));
	}
	if (go_code_open(&go, &code, TEXT, TEXT_BYTES))
		abort();
	if (go.start < go.end)
		build(&go, size >= HEADER_BYTES ? (uint32_t)(data[0] | data[1] << 8) : 0);
	find_all(&go);
	go_code_close(&go);
	free(bytes);
	return 0;
}
