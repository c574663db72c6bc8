/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json_format.h - the formats that the front-end reads, by name: each is a sink that writes JSON, and a row in
 * json_format.c.
 */
#ifndef GECKOBPF_FORMAT_JSON_FORMAT_H
#define GECKOBPF_FORMAT_JSON_FORMAT_H

struct output;
struct profile_input;
struct profile_sink;
struct profile_summary;

/* As the option --format has them, in words. */
#define JSON_FORMAT_NAMES "gecko or processed"

struct json_format {
	const char *name;
	/* A sink that writes to `output`, which the caller commits; both are borrowed. 0 or -ENOMEM. */
	int (*open)(struct profile_sink **out, const struct profile_input *input,
		    struct output *output);
};

/* NULL: no format has that name. */
const struct json_format *json_format_find(const char *name);

/*
 * A whole profile: open, walk, close. `format` NULL: Gecko. 0, the output's error, -ENOMEM, -errno (what does not fit
 * into memory has a file, see spool.h).
 */
int json_format_write(const struct json_format *format, const struct profile_input *input,
		      struct output *output, struct profile_summary *summary);

#endif
