/* SPDX-License-Identifier: BSD-2-Clause */
/* format.c - see format.h. */
#include "format/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "format/folded.h"
#include "format/gecko.h"
#include "format/pprof.h"
#include "format/processed.h"
#include "profile/profile.h"
#include "profile/sink.h"

static int write_folded(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, false, out);
}

static int write_folded_cpu(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, true, out);
}

const struct format format_table[] = {
	{.name = "gecko", .suffixes = {".json", ".json.gz", ".json.zst"}, .open = gecko_open},
	{.name = "processed", .open = processed_open},
	{.suffixes = {".pb.gz"}, .write = pprof_write},
	{.suffixes = {".folded"}, .write = write_folded, .write_cpu = write_folded_cpu},
	{0},
};

static bool is_row(const struct format *format)
{
	return format->open || format->write;
}

const struct format *format_named(const char *name)
{
	const struct format *format;

	for (format = format_table; is_row(format); format++)
		if (format->name && !strcmp(format->name, name))
			return format;
	return NULL;
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t length = strlen(path), suffix_length = strlen(suffix);

	return length > suffix_length && path[length - suffix_length - 1] != '/' &&
	       !strcmp(path + length - suffix_length, suffix);
}

static bool has_suffix_of(const char *path, const struct format *format)
{
	size_t i;

	for (i = 0; i < FORMAT_SUFFIXES_MAX && format->suffixes[i]; i++)
		if (ends_in(path, format->suffixes[i]))
			return true;
	return false;
}

const struct format *format_of_path(const char *path)
{
	const struct format *format;

	for (format = format_table; is_row(format); format++)
		if (has_suffix_of(path, format))
			return format;
	return NULL;
}

int format_write(const struct format *format, const struct profile_input *input,
		 struct output *output, struct profile_summary *summary)
{
	struct profile_sink *sink;
	int err = (format ? format : format_table)->open(&sink, input, output);

	if (err)
		return err;
	err = profile_walk(input, sink, summary);
	sink->ops->close(sink);
	return err;
}
