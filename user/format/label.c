/* SPDX-License-Identifier: BSD-2-Clause */
/* label.c - see label.h. Bytes that would end the pattern the front-end matches are replaced. */
#include "format/label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "profile/model.h"

void label_clear(struct label *label)
{
	free(label->items);
	memset(label, 0, sizeof(*label));
}

static int append(struct label *label, const char *text, size_t length)
{
	int err = array_reserve((void **)&label->items, &label->capacity, label->count + length, 1);

	if (err)
		return err;
	if (length)
		memcpy(label->items + label->count, text, length);
	label->count += length;
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

static int append_clean(struct label *label, const char *text, char close)
{
	size_t from = label->count;
	int err = append(label, text, strlen(text));

	if (!err)
		clean(label->items + from, label->count - from, close);
	return err;
}

/* The start of a text: never "0x". */
static int begin(struct label *label, const char *text, char close)
{
	if (!strncmp(text, "0x", 2) && append(label, "_", 1))
		return -ENOMEM;
	return append_clean(label, text, close);
}

static int finish(struct label *label, const char *before, const char *lib, const char *after)
{
	int err = append(label, before, strlen(before));

	if (!err)
		err = append_clean(label, lib, ']');
	return err ? err : append(label, after, strlen(after));
}

static int set_named(struct label *label, const char *name, const char *lib)
{
	int err = begin(label, name, ')');

	label->name_count = label->count;
	return err || !lib ? err : finish(label, " (in ", lib, ")");
}

static int append_hex(struct label *label, uint64_t value)
{
	char text[NUMBER_MAX_BYTES];

	return append(label, text, (size_t)(number_put_hex(text, value) - text));
}

static int set_offset(struct label *label, const char *lib, uint64_t offset)
{
	int err = begin(label, lib, ']');

	if (!err)
		err = append(label, "+", 1);
	if (!err)
		err = append_hex(label, offset);
	label->name_count = label->count;
	return err ? err : finish(label, " (in ", lib, ")");
}

int label_function(struct label *label, const struct profile_function *function)
{
	int err;

	label->count = 0;
	if (function->name)
		return set_named(label, function->name, function->lib);
	if (function->lib)
		return set_offset(label, function->lib, function->value);
	err = append_hex(label, function->value);
	label->name_count = label->count;
	return err;
}
