/* SPDX-License-Identifier: BSD-2-Clause */
/* error.c - see error.h. */
#include "base/error.h"

#include "base/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void clean(char *text)
{
	printable_clean(text, strlen(text));
}

static void set(struct error *error, int number, const char *object, const char *cause,
		va_list args)
{
	error->number = number;
	snprintf(error->object, sizeof(error->object), "%s", object ? object : "");
	vsnprintf(error->cause, sizeof(error->cause), cause, args);
	error->remedy[0] = '\0';
	clean(error->object);
	clean(error->cause);
}

int error_set(struct error *error, int number, const char *object, const char *cause, ...)
{
	va_list args;

	va_start(args, cause);
	if (error)
		set(error, number, object, cause, args);
	va_end(args);
	return number;
}

void warning_say(const struct warning_sink *sink, const char *object, const char *cause, ...)
{
	struct error warning;
	va_list args;

	if (!sink)
		return;
	va_start(args, cause);
	set(&warning, 0, object, cause, args);
	va_end(args);
	sink->take(sink->context, &warning);
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
