/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_kallsyms.c - any bytes as /proc/kallsyms. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "symbol/kernel_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct kernel_symbols *symbols, uint64_t address)
{
	const char *name, *module;
	uint64_t start;

	name = kernel_symbols_lookup(symbols, address, &module, &start);
	if (!name)
		return;
	if (!strlen(name) || start > address || (module && !strlen(module)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_symbols *symbols;
	uint64_t address;
	char path[64];
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!fd_write_all(fd, data, size) && !kernel_symbols_open(&symbols, path)) {
		for (address = 1; address; address <<= 1) {
			look_up(symbols, address);
			look_up(symbols, ~address);
		}
		kernel_symbols_close(symbols);
	}
	close(fd);
	return 0;
}
