/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf.c - any bytes as an ELF file: every question that can be asked about one gets an answer.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct symbol *symbol)
{
	if (!symbol->name[0])
		abort();
}

static void check_error(int err)
{
	if (err && err != -ENOENT && err != -ENOEXEC && err != -ENOMEM)
		abort();
}

static void look_up_all(struct symbol_file *file, size_t size)
{
	size_t step = size / 200 + 1, offset;
	struct symbol symbol;

	for (offset = 0; offset < size + 64; offset += step) {
		int err = symbol_file_lookup(file, offset, &symbol);

		if (!err)
			check_name(&symbol);
		check_error(err);
		err = symbol_file_function(file, offset, &symbol);
		if (!err && symbol.name)
			check_name(&symbol);
		check_error(err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct symbol_source source = {
		.path = "/nonexistent/file", .fd = -1, .image = data, .image_bytes = size};
	const struct symbol_options options = {.debug_dir = "/nonexistent"};
	struct symbol_files *symbol_files;
	struct symbol_file *file;
	const struct elf_layout *layout;

	if (symbol_files_open(&symbol_files, &options))
		return 0;
	if (!symbol_files_add(symbol_files, &source, &file)) {
		check_error(symbol_file_layout(file, &layout));
		look_up_all(file, size);
	}
	symbol_files_close(symbol_files);
	return 0;
}
