/* SPDX-License-Identifier: BSD-2-Clause */
/* output_choice.h - the options that say what is written, and how: those that record and convert share, as a child of argp. */
#ifndef GECKOBPF_CMD_OUTPUT_CHOICE_H
#define GECKOBPF_CMD_OUTPUT_CHOICE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct format;
struct usage;

/* The group of these options in a command's help. */
#define OUTPUT_CHOICE_GROUP 3

/* Zero-initialised but for `usage`; what the child takes as its input. */
struct output_choice {
	struct usage *usage;
	const char *path; /* NULL: not given; "-": stdout, by whatever name */
	const struct format *format; /* NULL: not given */
	bool addresses; /* no names */
	mode_t mode; /* of the file; 0: not given */
	bool replaces; /* files that have the names already */
	struct {
		const char **items;
		size_t count, capacity;
	} symbol_dirs;
};

extern const struct argp output_choice_argp;

/* Whether the output can be what it is: a profile is not for the eyes. 0 or EINVAL (usage_reject()). */
error_t output_choice_check(const struct output_choice *options);

void output_choice_clear(struct output_choice *options);

#endif
