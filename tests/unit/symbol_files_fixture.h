/* SPDX-License-Identifier: BSD-2-Clause */
/* symbol_files_fixture.h - where things of this process are in their files, and what a file with symbols says of them. */
#ifndef GECKOBPF_TESTS_SYMBOL_FILES_FIXTURE_H
#define GECKOBPF_TESTS_SYMBOL_FILES_FIXTURE_H

#include <errno.h>
#include <link.h>
#include <string.h>

#include "symbol/symbol_files.h"

/* A loaded file: its path, and the file offset and ELF address of a place in memory. */
struct place {
	uint64_t pointer;
	char path[4096];
	uint64_t offset, address;
	bool found;
};

static inline int find_place(struct dl_phdr_info *info, size_t size, void *context)
{
	struct place *place = context;
	size_t i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uint64_t address = place->pointer - info->dlpi_addr;

		if (header->p_type != PT_LOAD || address - header->p_vaddr >= header->p_filesz)
			continue;
		strncpy(place->path, info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe",
			sizeof(place->path) - 1);
		place->offset = address - header->p_vaddr + header->p_offset;
		place->address = address;
		place->found = true;
		return 1;
	}
	return 0;
}

static inline struct place place_of(const void *pointer)
{
	struct place place = {.pointer = (uintptr_t)pointer};

	dl_iterate_phdr(find_place, &place);
	assert_true(place.found);
	return place;
}

static inline struct symbol_files *open_symbol_files(void)
{
	struct symbol_files *symbol_files = NULL;

	assert_int_equal(symbol_files_open(&symbol_files, NULL), 0);
	return symbol_files;
}

static inline struct symbol_file *add_path(struct symbol_files *symbol_files, const char *path)
{
	const struct symbol_source source = {.path = path, .fd = -1};
	struct symbol_file *file = NULL;

	assert_int_equal(symbol_files_add(symbol_files, &source, &file), 0);
	return file;
}

static inline void assert_symbol(struct symbol_file *file, uint64_t offset, const char *name,
				 uint64_t address)
{
	struct symbol symbol;

	assert_int_equal(symbol_file_lookup(file, offset, &symbol), 0);
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.address, address);
}

/* What its layout says; -errno if it has none. */
static inline int file_address(struct symbol_file *file, uint64_t offset, uint64_t *address)
{
	const struct elf_layout *layout;
	int err = symbol_file_layout(file, &layout);

	return err ? err : elf_layout_address(layout, offset, address);
}

static inline int file_base(struct symbol_file *file, uint64_t *base)
{
	const struct elf_layout *layout;
	int err = symbol_file_layout(file, &layout);

	if (!err)
		*base = layout->base;
	return err;
}

/* Its size; 0: there is none. */
static inline size_t file_build_id(struct symbol_file *file, uint8_t *id, size_t capacity)
{
	const struct elf_layout *layout;
	size_t size = symbol_file_layout(file, &layout) ? 0 : layout->build_id_bytes;

	if (size > capacity)
		size = capacity;
	memcpy(id, layout->build_id, size);
	return size;
}

#endif
