/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_unwind.c - any rules, rows, mappings, registers and stack through the unwinder, as it walks stack copies.
 *
 *   input:  rules: count, 16 bytes each │ pages: count, each rows: count, (offset step, rule) │
 *           mappings: count, (gap, length, flags, bias) │ 17 values: registers │ values: stack, to the end
 *   value:  a byte that says which kind, then what it needs: 0, code, stack, or 8 bytes of anything
 *
 * The walk must end, say why, and write words that a reader can follow, the same each time.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/raw_sample.h"
#include "unwind/table.h"
#include "unwind/table_store.h"

#define CODE 0x400000ULL
#define STACK 0x7ffc00000000ULL
#define MAX_RULES 64
#define MAX_PAGES 4
#define MAX_MAPPINGS 8
#define MAX_STACK_WORDS 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- input --------------------------------------------------------------------------------------------- */

struct input {
	const uint8_t *data;
	size_t left;
};

/* Bytes beyond the end are 0. */
static void take(struct input *input, void *to, size_t bytes)
{
	size_t there = bytes < input->left ? bytes : input->left;

	memset(to, 0, bytes);
	if (there)
		memcpy(to, input->data, there);
	input->data += there;
	input->left -= there;
}

static uint8_t take_byte(struct input *input)
{
	uint8_t byte;

	take(input, &byte, 1);
	return byte;
}

static uint16_t take_short(struct input *input)
{
	uint16_t value;

	take(input, &value, 2);
	return value;
}

static uint64_t take_value(struct input *input)
{
	uint8_t kind = take_byte(input);
	uint64_t value;

	switch (kind & 3) {
	case 0:
		return kind >> 2;
	case 1:
		return CODE + ((uint64_t)(kind >> 2) << 16 | take_short(input));
	case 2:
		return STACK + 8 * (uint64_t)take_short(input) + (kind >> 5);
	default:
		take(input, &value, sizeof(value));
		return value;
	}
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static struct gb_page store_pages[GB_MAX_PAGES];
static struct gb_unwind_rule store_rules[GB_MAX_RULES];
static struct gb_chunk store_chunks[GB_POOL_CHUNKS];

static int add_pool(void *context, uint32_t index, struct gb_chunk **chunks)
{
	*chunks = store_chunks;
	return index ? -1 : 0;
}

struct code {
	struct gb_unwind_rule rules[MAX_RULES];
	struct unwind_page pages[MAX_PAGES];
	uint32_t rows[MAX_PAGES * UNWIND_MAX_ROWS_PER_PAGE];
	struct unwind_table table;
	struct gb_mapping mappings[MAX_MAPPINGS];
	size_t mapping_count;
};

/* At least one row; sorted, the first at 0. */
static void take_page(struct input *input, struct code *code)
{
	struct unwind_table *table = &code->table;
	struct unwind_page *page = &code->pages[table->page_count++];
	uint32_t count = 1 + take_byte(input), offset = 0;

	*page = (struct unwind_page){.first = table->row_count};
	while (page->count < count && offset < 1U << UNWIND_PAGE_BITS) {
		uint32_t rule = take_byte(input) % table->rule_count;

		code->rows[table->row_count++] = rule << UNWIND_PAGE_BITS | offset;
		page->count++;
		offset += 1 + take_byte(input);
	}
}

static void take_table(struct input *input, struct code *code)
{
	uint32_t i, pages;

	code->table = (struct unwind_table){
		.pages = code->pages, .rows = code->rows, .rules = code->rules};
	code->table.rule_count = 1 + take_byte(input) % MAX_RULES;
	for (i = 0; i < code->table.rule_count; i++)
		take(input, &code->rules[i], sizeof(code->rules[i]));
	pages = 1 + take_byte(input) % MAX_PAGES;
	code->table.first_page = take_short(input);
	for (i = 0; i < pages; i++)
		take_page(input, code);
}

/* Sorted, none overlaps; where their pages are is anything. */
static void take_mappings(struct input *input, struct code *code, int32_t page_offset)
{
	size_t count = take_byte(input) % (MAX_MAPPINGS + 1);
	uint64_t at = CODE;

	for (code->mapping_count = 0; code->mapping_count < count; code->mapping_count++) {
		struct gb_mapping *mapping = &code->mappings[code->mapping_count];
		uint8_t flags = take_byte(input);

		mapping->begin = at + take_short(input);
		mapping->end = at = mapping->begin + 1 + take_short(input);
		mapping->flags = flags & (GB_MAPPING_NO_TABLE | GB_MAPPING_TRACKS_REG);
		mapping->page_offset = page_offset;
		mapping->bias = mapping->begin - (code->table.first_page << UNWIND_PAGE_BITS);
		if (flags & 4)
			mapping->bias = take_value(input);
		if (flags & 8)
			mapping->page_offset = (int32_t)take_value(input);
	}
}

/* ---- the walk -------------------------------------------------------------------------------------------- */

static void check(const struct raw_sample *sample, const uint64_t *words, uint32_t count,
		  uint8_t end)
{
	uint32_t at = 0, frames = 0;

	if (!count || count > GB_MAX_USER_WORDS || end >= GB_STACK_END_COUNT ||
	    end == GB_STACK_NONE || end == GB_STACK_RAW ||
	    GB_FRAME_PC(words[0]) != GB_FRAME_PC(sample->regs[GB_REG_RIP]))
		abort();
	for (; at < count; frames++)
		at += GB_FRAME_SIZE(words[at]) == GB_FRAME_FAR ? 2 : 1;
	if (at != count || frames > GB_MAX_USER_FRAMES ||
	    (end == GB_STACK_NO_PROCESS) != !sample->mapping_count)
		abort();
	if (end == GB_STACK_FULL && frames < GB_MAX_USER_FRAMES && count + 2 <= GB_MAX_USER_WORDS)
		abort();
}

static void walk(const struct table_store *store, const struct raw_sample *sample)
{
	static uint64_t words[GB_MAX_USER_WORDS], again[GB_MAX_USER_WORDS];
	const struct gb_mapping *awaited;
	uint8_t end = 0, end_again = 0;
	uint32_t count = raw_sample_unwind(store, sample, words, &end, &awaited);

	check(sample, words, count, end);
	if (awaited && !(awaited->flags & GB_MAPPING_AWAITED))
		abort();
	if (raw_sample_unwind(store, sample, again, &end_again, &awaited) != count ||
	    end != end_again || memcmp(words, again, count * sizeof(words[0])))
		abort();
}

static void take_stack(struct input *input, const struct table_store *store,
		       const struct code *code)
{
	uint64_t regs[GB_RAW_REGS], *words = malloc(MAX_STACK_WORDS * sizeof(*words)), *exact;
	struct raw_sample sample = {
		.regs = regs, .mappings = code->mappings, .mapping_count = code->mapping_count};
	size_t i;

	for (i = 0; i < GB_RAW_REGS; i++)
		regs[i] = take_value(input);
	while (words && input->left && sample.word_count < MAX_STACK_WORDS)
		words[sample.word_count++] = take_value(input);
	exact = realloc(words, sample.word_count * sizeof(*words) + 1);
	if (!exact)
		abort();
	sample.words = exact;
	walk(store, &sample);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct unwind_memory memory = {store_pages, store_rules, add_pool, NULL, 1};
	struct input input = {data, size};
	struct stored_table *stored;
	struct table_store *store;
	static struct code code;

	take_table(&input, &code);
	if (table_store_open(&store, &memory) || table_store_add(store, &code.table, 1, &stored))
		abort();
	take_mappings(&input, &code, stored_page_offset(stored));
	take_stack(&input, store, &code);
	table_store_remove(store, stored, 1);
	table_store_close(store);
	return 0;
}
