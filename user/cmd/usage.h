/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - a command line is read by argp, and what is wrong with it is one line: what was given, why it is not
 * accepted, what was meant or what to give. Exit status 2.
 */
#ifndef GECKOBPF_CMD_USAGE_H
#define GECKOBPF_CMD_USAGE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define EXIT_USAGE 2
#define USAGE_TEXT_BYTES 4400 /* a path, and what is said of it */

#define USAGE_KEY_HELP 'h'
#define USAGE_KEY_VERSION 'V'

/* In a command's options, for usage_option(). */
#define USAGE_OPTIONS                                                                              \
	{"help", USAGE_KEY_HELP, NULL, 0, "Show this and exit", 0},                                \
		{NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},                          \
		{"version", USAGE_KEY_VERSION, NULL, 0, "Show the version and exit", 0},           \
	{                                                                                          \
		"call-graph", 'g', "HOW", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0             \
	}

/* What a parser knows; zero-initialised but for the name, and the first member of its input. */
struct usage {
	const char *command; /* "geckobpf report" */
	int environment_end; /* words before argv[environment_end] are of GECKOBPF_OPTIONS */
	int show; /* USAGE_KEY_HELP or _VERSION: only that is wanted */
	int error_at; /* argp has stopped before this word */
	char text[USAGE_TEXT_BYTES]; /* why, if more is known than argp says */
};

/* Says why the command line is not accepted; EINVAL. The first reason is kept. */
error_t usage_reject(struct usage *usage, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The options that all commands have. 0; EINVAL; ARGP_ERR_UNKNOWN: another one. For a parser's `default`. */
error_t usage_option(struct usage *usage, int key, struct argp_state *state);

/*
 * Reads the words into `input`. 0: run; -1: exit with *status: help was printed, or what is wrong logged.
 */
int usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		struct usage *usage, void *input, int *status);

/* Logs what usage_reject() was told of a command line as a whole; EXIT_USAGE. */
int usage_report(const struct usage *usage);

#endif
