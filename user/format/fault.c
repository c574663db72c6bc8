/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.c - see fault.h. */
#include "format/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *fault, int err, const char *format, ...)
{
	va_list args;
	char *at;

	if (!fault)
		return err;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	for (at = fault->text; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = '?';
	return err;
}
