/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - what a profile can be written as: one row a format, in format.c.
 *
 *   recording ──> profile_walk() ──> a sink that writes to an output                    for the Firefox Profiler
 *             ──> profile_walk() ──> counts of stacks (stack_profile.h) ──> a writer    for other tools
 *
 * A new format is a file with its sink or its writer, a row, and its words below.
 */
#ifndef GECKOBPF_FORMAT_FORMAT_H
#define GECKOBPF_FORMAT_FORMAT_H

#include <stdio.h>

struct output;
struct profile_input;
struct profile_sink;
struct profile_summary;
struct stack_profile;

/* The names of formats as the option --format shows and has them. */
#define FORMAT_CHOICE "gecko|processed"
#define FORMAT_NAMES "gecko or processed"
/* What the suffix of a file can be, and who reads it. */
#define FORMAT_SUFFIXES                                                                            \
	".json.gz (Firefox Profiler; also .json, .json.zst), .pb.gz (pprof) or "                   \
	".folded (flame graphs)"

#define FORMAT_SUFFIXES_MAX 3

struct format {
	const char *name; /* as --format has it; NULL: the suffix says it */
	const char *suffixes[FORMAT_SUFFIXES_MAX]; /* of its files, if no name is given */
	/*
	 * A sink that writes to `output`, which the caller commits; both are borrowed. 0 or -ENOMEM. NULL: it is made
	 * of counts of stacks, and has no name.
	 */
	int (*open)(struct profile_sink **out, const struct profile_input *input,
		    struct output *output);
	/* At the end of `out`. 0, -ENOMEM, or the error of the file as -errno. NULL: it has a sink. */
	int (*write)(const struct stack_profile *profile, FILE *out);
	/* The same, of CPU time instead of samples. NULL: it has no choice. */
	int (*write_cpu)(const struct stack_profile *profile, FILE *out);
};

/* All there are, the default first; ends with one that has neither sink nor writer. */
extern const struct format format_table[];

/* NULL: no format has that name. */
const struct format *format_named(const char *name);
/* What a file of this path is, as long as no name is given. NULL: no format has its suffix, or it is nothing else. */
const struct format *format_of_path(const char *path);

/*
 * A whole profile: open, walk, close. `format` NULL: Gecko. 0, the output's error, -ENOMEM, -errno (what does not fit
 * into memory has a file, see spool.h).
 */
int format_write(const struct format *format, const struct profile_input *input,
		 struct output *output, struct profile_summary *summary);

#endif
