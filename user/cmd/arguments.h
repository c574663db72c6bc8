/* SPDX-License-Identifier: BSD-2-Clause */
/* arguments.h - the command line of those commands that read files: each error is one line, and help goes to stdout. */
#ifndef GECKOBPF_CMD_ARGUMENTS_H
#define GECKOBPF_CMD_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "cmd/usage.h"

/* In a command's options, for arguments_option(). */
#define ARGUMENTS_KEY_STRICT 0x300
#define ARGUMENTS_OPTION_STRICT                                                                    \
	{                                                                                          \
		"strict", ARGUMENTS_KEY_STRICT, NULL, 0,                                           \
			"Exit status 1 if anything was lost when it was recorded", 0               \
	}

/* Zero-initialised but for the name in `usage`, and the first member of what the command's parser takes as its input. */
struct arguments_files {
	struct usage usage;
	const char **items; /* the arguments that are no options */
	size_t count, capacity;
	bool is_strict;
};

/* The exit status where `lost` says that something was, which is told if it matters. */
int arguments_status(const struct arguments_files *files, bool lost);

/* What all these commands have in common: files, --help, --strict. For a parser's `default`. */
error_t arguments_option(int key, char *value, struct argp_state *state);

/* Parses, and wants a file. 0: run; -1: exit with *status: help was printed, or what is wrong logged. */
int arguments_parse(const struct argp *argp, int argc, char **argv, struct arguments_files *files,
		    int *status);
void arguments_clear(struct arguments_files *files);

#endif
