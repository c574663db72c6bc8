/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_demangle.c - any bytes as a symbol's name: what is printed has no control characters and is
 * not empty.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char out[DEMANGLE_MAX_BYTES];
	char *name = malloc(size + 1);
	size_t length, i;

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	length = demangle(name, false, out);
	if (length >= sizeof(out) || out[length] || strlen(out) != length || (name[0] && !length))
		abort();
	for (i = 0; i < length; i++)
		if ((uint8_t)out[i] < 0x20)
			abort();
	free(name);
	return 0;
}
