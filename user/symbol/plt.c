/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt.c - see plt.h.
 *
 * Every stub, whichever of .plt, .plt.sec and .plt.got it is in, jumps through a slot of the global
 * offset table, and a relocation says which symbol's address the loader puts there:
 *
 *   stub: jump by slot -> slot <- relocation {slot, symbol} -> .dynsym -> name
 *
 * What a stub looks like is known by the rows of a table, one a machine: of the file, which need not be ours.
 */
#include "symbol/plt.h"
#include "base/array.h"
#include "symbol/address_sort.h"
#include "elf/elf_file.h"
#include "symbol/plt_machine.h"
#include "symbol/symbol_table.h"

#include <elf.h>
#include <string.h>

struct slot {
	uint64_t address; /* first: address_sort() */
	uint64_t name; /* offset in the strings of .dynsym */
};

struct slots {
	const struct plt_machine *machine;
	struct slot *items;
	size_t count, capacity;
};

static const struct plt_machine *const machines[] = {
	&plt_x86_64,
};

/* What the slots are made from. */
struct dynamic_symbols {
	char *bytes; /* Elf64_Sym[] */
	size_t count;
};

static int add_slot(struct slots *slots, const Elf64_Rela *relocation,
		    const struct dynamic_symbols *symbols)
{
	uint64_t type = ELF64_R_TYPE(relocation->r_info);
	uint64_t index = ELF64_R_SYM(relocation->r_info);
	Elf64_Sym symbol;

	if ((type != slots->machine->jump_slot && type != slots->machine->global_data) || !index ||
	    index >= symbols->count)
		return 0;
	memcpy(&symbol, symbols->bytes + index * sizeof(symbol), sizeof(symbol));
	if (ARRAY_ROOM(slots))
		return -ENOMEM;
	slots->items[slots->count++] =
		(struct slot){.address = relocation->r_offset, .name = symbol.st_name};
	return 0;
}

static int add_slots(struct slots *slots, const struct elf_file *file, const char *section_name,
		     const struct dynamic_symbols *symbols)
{
	const struct elf_section *section = elf_file_named(file, section_name);
	char *bytes;
	size_t at;
	int err;

	if (!section || section->type != SHT_RELA)
		return 0;
	err = elf_file_read_section(file, section, &bytes);
	if (err)
		return err;
	for (at = 0; !err && section->size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;

		memcpy(&relocation, bytes + at, sizeof(relocation));
		err = add_slot(slots, &relocation, symbols);
	}
	free(bytes);
	return err;
}

static const struct slot *find_slot(const struct slots *slots, uint64_t address)
{
	size_t low = 0, high = slots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < slots->count && slots->items[low].address == address ? &slots->items[low]
									  : NULL;
}

static int add_stubs(struct symbol_table *table, const struct elf_file *file,
		     const char *section_name, uint8_t source, const struct slots *slots)
{
	const struct elf_section *section = elf_file_named(file, section_name);
	size_t stub_bytes, at;
	char *bytes;
	int err;

	if (!section || section->type != SHT_PROGBITS)
		return 0;
	stub_bytes = section->entry_bytes == 8 ? 8 : 16;
	err = elf_file_read_section(file, section, &bytes);
	if (err)
		return err;
	for (at = 0; (!err || err == -ENOEXEC) && section->size - at >= stub_bytes;
	     at += stub_bytes) {
		const struct slot *slot;
		uint64_t address;

		if (!slots->machine->decode((uint8_t *)bytes + at, stub_bytes,
					    section->address + at, &address))
			continue;
		slot = find_slot(slots, address);
		if (slot)
			err = symbol_table_add_stub(table, source, (uint32_t)slot->name,
						    section->address + at, (uint32_t)stub_bytes);
	}
	free(bytes);
	return err;
}

/* .rela.dyn is mostly about other things, and large: it is read only for .plt.got. */
static int read_slots(const struct elf_file *file, struct slots *slots)
{
	const struct elf_section *section = elf_file_typed(file, SHT_DYNSYM);
	struct dynamic_symbols symbols = {0};
	int err;

	if (!section)
		return 0;
	err = elf_file_read_section(file, section, &symbols.bytes);
	if (err)
		return err;
	symbols.count = section->size / sizeof(Elf64_Sym);
	err = add_slots(slots, file, ".rela.plt", &symbols);
	if (!err && elf_file_named(file, ".plt.got"))
		err = add_slots(slots, file, ".rela.dyn", &symbols);
	free(symbols.bytes);
	return err;
}

static const struct plt_machine *machine_of(const struct elf_file *file)
{
	size_t i;

	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (file->machine == machines[i]->machine && file->is_64_bit)
			return machines[i];
	return NULL;
}

int plt_add(struct symbol_table *table, const struct elf_file *file, uint8_t source)
{
	static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
	struct slots slots = {0};
	size_t i;
	int err;

	slots.machine = machine_of(file);
	if (!slots.machine)
		return 0;
	err = read_slots(file, &slots);
	if (!err)
		err = address_sort(slots.items, slots.count, sizeof(*slots.items));
	for (i = 0; !err && i < sizeof(sections) / sizeof(*sections); i++)
		err = add_stubs(table, file, sections[i], source, &slots);
	free(slots.items);
	return err;
}
