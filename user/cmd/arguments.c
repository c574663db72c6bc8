/* SPDX-License-Identifier: BSD-2-Clause */
/* arguments.c - see arguments.h. */
#include "cmd/arguments.h"

#include "base/array.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

static error_t add_file(struct arguments_files *files, const char *path)
{
	if (ARRAY_ROOM(files))
		return ENOMEM;
	files->items[files->count++] = path;
	return 0;
}

error_t arguments_option(int key, char *value, struct argp_state *state)
{
	struct arguments_files *files = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		return add_file(files, value);
	case ARGUMENTS_KEY_STRICT:
		files->is_strict = true;
		return 0;
	default:
		return usage_option(&files->usage, key, state);
	}
}

int arguments_parse(const struct argp *argp, int argc, char **argv, struct arguments_files *files,
		    int *status)
{
	if (usage_parse(argp, argc, argv, 0, &files->usage, files, status))
		return -1;
	if (files->count)
		return 0;
	(void)usage_reject(&files->usage,
			   "no file: give a profile that geckobpf wrote (see %s --help)",
			   files->usage.command);
	*status = usage_report(&files->usage);
	return -1;
}

int arguments_status(const struct arguments_files *files, bool lost)
{
	if (!files->is_strict || !lost)
		return EXIT_SUCCESS;
	log_error("--strict: the recording lost samples or events; geckobpf report says how many");
	return EXIT_FAILURE;
}

void arguments_clear(struct arguments_files *files)
{
	free(files->items);
	files->items = NULL;
}
