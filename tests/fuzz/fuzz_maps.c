/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_maps.c - any bytes as lines of a /proc/PID/maps file. What is taken must hold together. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line)
{
	size_t length = strlen(line);
	struct maps_line parsed;

	if (!procfs_parse_maps_line(line, &parsed))
		return;
	if (parsed.start >= parsed.end)
		abort();
	if (parsed.path < line || parsed.path > line + length || parsed.path[0] == ' ')
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly as long as it is, so that a read beyond its end is found. */
	char *text = malloc(size + 1), *rest = text, *line;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		char *exact = strdup(line);

		if (exact)
			check_line(exact);
		free(exact);
	}
	free(text);
	return 0;
}
