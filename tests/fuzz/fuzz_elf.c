/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf.c - any bytes as an ELF file: every question that can be asked about one gets an answer.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbolizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const struct symbol *symbol)
{
	if (!symbol->name[0])
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
		else if (err != -ENOENT && err != -ENOEXEC && err != -ENOMEM)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct symbol_source source = {
		.path = "/nonexistent/file", .fd = -1, .image = data, .image_bytes = size};
	const struct symbol_options options = {.debug_dir = "/nonexistent"};
	struct symbolizer *symbolizer;
	struct symbol_file *file;
	uint64_t address;
	uint8_t id[64];

	if (symbolizer_open(&symbolizer, &options))
		return 0;
	if (!symbolizer_add_file(symbolizer, &source, &file)) {
		symbol_file_base(file, &address);
		symbol_file_build_id(file, id, sizeof(id));
		look_up_all(file, size);
	}
	symbolizer_close(symbolizer);
	return 0;
}
