/* SPDX-License-Identifier: BSD-2-Clause */
/* error.c - see error.h. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			*text = '?';
}

int error_set(struct error *error, int number, const char *object, const char *cause, ...)
{
	va_list args;

	if (!error)
		return number;
	error->number = number;
	snprintf(error->object, sizeof(error->object), "%s", object ? object : "");
	va_start(args, cause);
	vsnprintf(error->cause, sizeof(error->cause), cause, args);
	va_end(args);
	error->remedy[0] = '\0';
	clean(error->object);
	clean(error->cause);
	return number;
}

void error_advise(struct error *error, const char *remedy, ...)
{
	va_list args;

	if (!error)
		return;
	va_start(args, remedy);
	vsnprintf(error->remedy, sizeof(error->remedy), remedy, args);
	va_end(args);
	clean(error->remedy);
}
