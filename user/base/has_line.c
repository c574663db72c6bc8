/* SPDX-License-Identifier: BSD-2-Clause */
/* has_line.c - see has_line.h. */
#include "base/has_line.h"

#include <string.h>

bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);
	const char *at;

	for (at = strstr(text, line); at; at = strstr(at + 1, line))
		if ((at == text || at[-1] == '\n') && (!at[length] || at[length] == '\n'))
			return true;
	return false;
}
