/* SPDX-License-Identifier: BSD-2-Clause */
/* arguments.c - see arguments.h. */
#include "cmd/arguments.h"

#include "base/array.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

error_t arguments_reject(struct arguments_files *files, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_at(LOG_ERROR, format, args);
	va_end(args);
	files->is_reported = true;
	return EINVAL;
}

error_t arguments_add_dir(struct arguments_dirs *dirs, const char *path)
{
	struct stat file;

	if (stat(path, &file) || !S_ISDIR(file.st_mode)) {
		log_error("--symbol-dir %s: not a directory that can be read", path);
		return EINVAL;
	}
	if (ARRAY_ROOM(dirs)) {
		log_error("out of memory");
		return EINVAL;
	}
	dirs->items[dirs->count++] = path;
	return 0;
}

static error_t add_file(struct arguments_files *files, const char *path)
{
	if (ARRAY_ROOM(files))
		return arguments_reject(files, "out of memory");
	files->items[files->count++] = path;
	return 0;
}

error_t arguments_option(int key, char *value, struct argp_state *state)
{
	struct arguments_files *files = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		return add_file(files, value);
	case ARGUMENTS_KEY_HELP:
		files->wants_help = true;
		state->next = state->argc;
		return 0;
	case ARGUMENTS_KEY_STRICT:
		files->is_strict = true;
		return 0;
	case ARGP_KEY_ERROR:
		files->error_at = state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int arguments_parse(const struct argp *argp, int argc, char **argv, const char *name,
		    struct arguments_files *files, int *status)
{
	/* Without argp's own errors and help, so that each error is one line of ours. */
	error_t err = argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, files);
	int at = files->error_at;

	*status = EXIT_USAGE;
	if (err && !files->is_reported)
		log_error("%s: not an option, or its value is missing; see %s --help",
			  at > 0 && at <= argc ? argv[at - 1] : "command line", name);
	if (err)
		return -1;
	if (files->wants_help) {
		argp_help(argp, stdout,
			  ARGP_HELP_STD_HELP & ~(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR),
			  (char *)name);
		*status = EXIT_SUCCESS;
		return -1;
	}
	if (!files->count) {
		arguments_reject(
			files, "no file: give a profile that geckobpf wrote (see %s --help)", name);
		return -1;
	}
	return 0;
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
