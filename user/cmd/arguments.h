/* SPDX-License-Identifier: BSD-2-Clause */
/* arguments.h - the command line of those commands that read files: each error is one line, and help goes to stdout. */
#ifndef GECKOBPF_CMD_ARGUMENTS_H
#define GECKOBPF_CMD_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define EXIT_USAGE 2

/* In a command's options, for arguments_option(). */
#define ARGUMENTS_KEY_HELP '?'
#define ARGUMENTS_OPTION_HELP                                                                      \
	{                                                                                          \
		"help", ARGUMENTS_KEY_HELP, NULL, 0, "Show this and exit", 0                       \
	}

#define ARGUMENTS_KEY_STRICT 0x300
#define ARGUMENTS_OPTION_STRICT                                                                    \
	{                                                                                          \
		"strict", ARGUMENTS_KEY_STRICT, NULL, 0,                                           \
			"Exit status 1 if anything was lost when it was recorded", 0               \
	}

/* Zero-initialised, and the first member of what the command's parser takes as its input. */
struct arguments_files {
	const char **items; /* the arguments that are no options */
	size_t count, capacity;
	bool wants_help;
	bool is_strict;
	bool is_reported; /* the error has been logged */
	int error_at; /* or it is in the argument before this one */
};

/* The directories of --symbol-dir. Zero-initialised is empty; free `items`. */
struct arguments_dirs {
	const char **items;
	size_t count, capacity;
};

/* Adds `path`, which is borrowed. 0; EINVAL: it is no directory, which has been logged. */
error_t arguments_add_dir(struct arguments_dirs *dirs, const char *path);

/* Logs why the command line is not accepted; EINVAL. */
error_t arguments_reject(struct arguments_files *files, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The exit status where `lost` says that something was, which is told if it matters. */
int arguments_status(const struct arguments_files *files, bool lost);

/* What all these commands have in common: files, --help, --strict. For a parser's `default`. */
error_t arguments_option(int key, char *value, struct argp_state *state);

/*
 * Parses, and wants a file. 0: run; -1: exit with *status, the help is printed or the error logged. `name`: "geckobpf
 * report".
 */
int arguments_parse(const struct argp *argp, int argc, char **argv, const char *name,
		    struct arguments_files *files, int *status);
void arguments_clear(struct arguments_files *files);

#endif
