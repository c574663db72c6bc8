/* SPDX-License-Identifier: BSD-2-Clause */
/* display_name.c - see display_name.h. Bytes that would end the pattern the front-end matches are replaced. */
#include "format/display_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "profile/model.h"

void display_name_clear(struct display_name *name)
{
	free(name->items);
	memset(name, 0, sizeof(*name));
}

static int append(struct display_name *name, const char *text, size_t length)
{
	int err = array_reserve((void **)&name->items, &name->capacity, name->count + length, 1);

	if (err)
		return err;
	if (length)
		memcpy(name->items + name->count, text, length);
	name->count += length;
	return 0;
}

/* A line break would end the pattern that the front-end matches. */
static void clean(char *text, size_t length, char close)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if ((unsigned char)text[i] < 0x20)
			text[i] = '?';
		else if (text[i] == ')')
			text[i] = close;
	}
}

static int append_clean(struct display_name *name, const char *text, char close)
{
	size_t from = name->count;
	int err = append(name, text, strlen(text));

	if (!err)
		clean(name->items + from, name->count - from, close);
	return err;
}

/* The start of a text: never "0x". */
static int begin(struct display_name *name, const char *text, char close)
{
	if (!strncmp(text, "0x", 2) && append(name, "_", 1))
		return -ENOMEM;
	return append_clean(name, text, close);
}

static int finish(struct display_name *name, const char *before, const char *lib, const char *after)
{
	int err = append(name, before, strlen(before));

	if (!err)
		err = append_clean(name, lib, ']');
	return err ? err : append(name, after, strlen(after));
}

static int set_named(struct display_name *name, const char *text, const char *lib)
{
	int err = begin(name, text, ')');

	name->name_count = name->count;
	return err || !lib ? err : finish(name, " (in ", lib, ")");
}

static int append_hex(struct display_name *name, uint64_t value)
{
	char text[NUMBER_MAX_BYTES];

	return append(name, text, (size_t)(number_put_hex(text, value) - text));
}

static int set_unnamed(struct display_name *name, const struct profile_function *function)
{
	const char *lib = function->lib, *what = function->is_start ? "!fn@" : "+";
	int err = begin(name, lib, ']');

	if (!err)
		err = append(name, what, strlen(what));
	if (!err)
		err = append_hex(name, function->value);
	name->name_count = name->count;
	return err ? err : finish(name, " (in ", lib, ")");
}

int display_name_set(struct display_name *name, const struct profile_function *function)
{
	int err;

	name->count = 0;
	if (function->name)
		return set_named(name, function->name, function->lib);
	if (function->lib)
		return set_unnamed(name, function);
	err = append_hex(name, function->value);
	name->name_count = name->count;
	return err;
}
