/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_provider.c - names of user code from the symbols of the file that is mapped there, or of its debug file. */
#include "symbol/object_files.h"
#include "symbol/provider.h"
#include "symbol/symbol_files.h"
#include "target/address_space.h"

#include <errno.h>

static int open_elf(void **state, const struct symbol_sources *sources)
{
	*state = sources->files;
	return sources->files ? 0 : -ENOENT;
}

static int look_up_elf(void *state, const struct symbol_place *place, struct symbol_frames *frames)
{
	struct symbol_file *file;
	struct symbol symbol;
	int err;

	if (!place->mapping)
		return -ENOENT;
	err = object_files_get(state, place->mapping->object, &file);
	if (!err)
		err = symbol_file_lookup(file, place->offset, &symbol);
	if (err)
		return err;
	frames->items[0] = (struct symbol_frame){
		.name = symbol.name,
		.start = symbol.address,
		.size = symbol.size,
	};
	frames->count = 1;
	return 0;
}

const struct symbol_provider elf_provider = {
	.name = "ELF symbols",
	.open = open_elf,
	.lookup = look_up_elf,
};
