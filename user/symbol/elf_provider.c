/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_provider.c - names of user code from the symbols of the file that is mapped there, or of its debug file; and, where
 * there are none, the functions that stripping left.
 */
#include "symbol/object_files.h"
#include "symbol/provider.h"
#include "symbol/symbol_files.h"
#include "target/address_space.h"

#include <errno.h>

typedef int look_up_fn(struct symbol_file *file, uint64_t offset, struct symbol *out);

static int open_elf(void **state, const struct symbol_sources *sources)
{
	*state = sources->files;
	return sources->files ? 0 : -ENOENT;
}

static int look_up(struct object_files *files, const struct symbol_place *place,
		   struct symbol_frames *frames, look_up_fn *look_up_in)
{
	struct symbol_line line = {0};
	struct symbol_file *file;
	struct symbol symbol;
	int err;

	if (!place->mapping)
		return -ENOENT;
	err = object_files_get(files, place->mapping->object, &file);
	if (!err)
		err = look_up_in(file, place->offset, &symbol);
	if (err)
		return err;
	if (symbol.name && symbol_file_line(file, place->offset, &line) == -ENOMEM)
		return -ENOMEM;
	frames->items[0] = (struct symbol_frame){
		.name = symbol.name,
		.file = line.file,
		.line = line.line,
		.start = symbol.address,
		.size = symbol.size,
	};
	frames->count = 1;
	return 0;
}

static int look_up_symbol(void *state, const struct symbol_place *place,
			  struct symbol_frames *frames)
{
	return look_up(state, place, frames, symbol_file_lookup);
}

static int look_up_function(void *state, const struct symbol_place *place,
			    struct symbol_frames *frames)
{
	return look_up(state, place, frames, symbol_file_function);
}

const struct symbol_provider elf_provider = {
	.name = "ELF symbols",
	.open = open_elf,
	.lookup = look_up_symbol,
};

const struct symbol_provider function_provider = {
	.name = "functions of stripped files",
	.open = open_elf,
	.lookup = look_up_function,
};
