/* SPDX-License-Identifier: BSD-2-Clause */
/* json_format.c - see json_format.h. */
#include "format/json_format.h"

#include <stddef.h>
#include <string.h>

#include "format/gecko.h"
#include "format/processed.h"
#include "profile/profile.h"
#include "profile/sink.h"

/* The first one is the default. */
static const struct json_format formats[] = {
	{"gecko", gecko_open},
	{"processed", processed_open},
};

const struct json_format *json_format_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

int json_format_write(const struct json_format *format, const struct profile_input *input,
		      struct output *output, struct profile_summary *summary)
{
	struct profile_sink *sink;
	int err = (format ? format : formats)->open(&sink, input, output);

	if (err)
		return err;
	err = profile_walk(input, sink, summary);
	sink->ops->close(sink);
	return err;
}
