/* SPDX-License-Identifier: BSD-2-Clause */
/* asm_entries.c - see asm_entries.h. */
#include "unwind/asm_entries.h"
#include "base/array.h"
#include "elf/elf_file.h"
#include "unwind/instruction.h"

#include <elf.h>
#include <stdlib.h>

#define SYMBOLS_MAX (1u << 20) /* are looked at */
#define SYMBOLS_AT_ONCE 512
#define DATA_AT_ONCE 512 /* words */
#define DATA_MAX_BYTES (1u << 20) /* of data are looked at */
#define DATA_WORTH_BYTES 4096 /* of gaps */
#define START_BYTES 64 /* of the program's first instructions */

static bool is_in_gap(const struct asm_code *asm_code, uint64_t offset)
{
	size_t low = 0, high = asm_code->gap_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (asm_code->gaps[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < asm_code->gap_count && offset >= asm_code->gaps[low].start;
}

static int add_entry(struct asm_code *asm_code, uint64_t offset, int kind)
{
	int err;

	if (offset < asm_code->gaps[0].start ||
	    offset >= asm_code->gaps[asm_code->gap_count - 1].end || !is_in_gap(asm_code, offset))
		return 0;
	err = array_reserve((void **)&asm_code->entries, &asm_code->entry_capacity,
			    asm_code->entry_count + 1, sizeof(*asm_code->entries));
	if (!err)
		asm_code->entries[asm_code->entry_count++] =
			(struct asm_entry){(uint32_t)offset, kind};
	return err;
}

static bool is_function(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
}

static int add_symbols(struct asm_code *asm_code, const struct elf_file *file, uint32_t type,
		       uint64_t text)
{
	const struct elf_section *section = elf_file_typed(file, type);
	Elf64_Sym symbols[SYMBOLS_AT_ONCE];
	uint64_t left, offset;
	size_t i, count;
	int err = 0;

	if (!section)
		return 0;
	offset = section->offset;
	left = section->size / sizeof(symbols[0]);
	if (left > SYMBOLS_MAX)
		left = SYMBOLS_MAX;
	for (; left && !err; left -= count, offset += count * sizeof(symbols[0])) {
		count = left < SYMBOLS_AT_ONCE ? left : SYMBOLS_AT_ONCE;
		if (elf_file_read(file, offset, symbols, count * sizeof(symbols[0])))
			return 0;
		for (i = 0; i < count && !err; i++)
			if (is_function(&symbols[i]))
				err = add_entry(asm_code, symbols[i].st_value - text, ENTRY_NAMED);
	}
	return err;
}

/* Where the program begins, and what its first instructions point to: main among others, which need not return. */
static int add_start(struct asm_code *asm_code, const struct elf_code *code, uint64_t text)
{
	uint64_t address = code->file->entry, target;
	uint8_t bytes[START_BYTES];
	size_t got = elf_code_peek(code, address, bytes, sizeof(bytes)), at = 0;
	struct instruction instruction;
	int err = address ? add_entry(asm_code, address - text, ENTRY_START) : 0;

	while (!err && machine_decode(bytes + at, got - at, &instruction) &&
	       instruction.kind != INSTRUCTION_STOP) {
		at += instruction.length;
		target = (uint64_t)instruction.value;
		if (instruction.kind == INSTRUCTION_ADDRESS)
			target += address + at;
		else if (instruction.kind != INSTRUCTION_NUMBER)
			continue;
		err = add_entry(asm_code, target - text, ENTRY_POINTED);
	}
	return err;
}

/* What words of data point to: functions in tables, and labels in others. */
static int add_pointers(struct asm_code *asm_code, const struct elf_code *code, uint64_t text)
{
	const struct elf_part *part = &code->relocated;
	uint64_t words[DATA_AT_ONCE], done;
	size_t got, i;
	int err = 0;

	for (done = 0; done < part->bytes && done < DATA_MAX_BYTES && !err; done += sizeof(words)) {
		got = elf_code_peek(code, part->address + done, words, sizeof(words));
		for (i = 0; i < got / sizeof(words[0]) && !err; i++)
			err = add_entry(asm_code, words[i] - text, ENTRY_POINTED);
	}
	return err;
}

static int by_offset(const void *left, const void *right)
{
	const struct asm_entry *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

int asm_entries_find(struct asm_code *asm_code, const struct elf_code *code, uint64_t text)
{
	uint64_t bytes = 0;
	size_t i;
	int err;

	if (!asm_code->gap_count)
		return 0;
	for (i = 0; i < asm_code->gap_count; i++)
		bytes += asm_code->gaps[i].end - asm_code->gaps[i].start;
	err = add_start(asm_code, code, text);
	if (!err)
		err = add_symbols(asm_code, code->file, SHT_SYMTAB, text);
	if (!err)
		err = add_symbols(asm_code, code->file, SHT_DYNSYM, text);
	if (!err && bytes >= DATA_WORTH_BYTES)
		err = add_pointers(asm_code, code, text);
	if (!err && asm_code->entry_count)
		qsort(asm_code->entries, asm_code->entry_count, sizeof(*asm_code->entries),
		      by_offset);
	return err;
}
