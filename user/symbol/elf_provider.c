/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_provider.c - names of user code from the symbols of the file that is mapped there, or of its debug file; and, where
 * there are none, the functions that stripping left.
 */
#include "symbol/named_files.h"
#include "symbol/object_files.h"
#include "symbol/provider.h"
#include "target/address_space.h"

#include <errno.h>

static int open_elf(void **state, const struct symbol_sources *sources)
{
	*state = sources->files;
	return sources->files ? 0 : -ENOENT;
}

static int look_up(void *state, const struct symbol_place *place, struct symbol_frames *frames)
{
	struct named_file *file;
	struct named_code code;
	int err;

	if (!place->mapping)
		return -ENOENT;
	err = object_files_get(state, place->mapping->object, &file);
	if (!err)
		err = named_file_find(file, place->offset, &code);
	if (err)
		return err;
	frames->items[0] = (struct symbol_frame){
		.name = code.name,
		.file = code.source,
		.line = code.line,
		.start = code.start,
		.size = code.size,
	};
	frames->count = 1;
	return 0;
}

const struct symbol_provider elf_provider = {
	.name = "ELF symbols",
	.open = open_elf,
	.lookup = look_up,
};
