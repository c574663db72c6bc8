/* SPDX-License-Identifier: BSD-2-Clause */
/* output_choice.c - see output_choice.h. */
#include "cmd/output_choice.h"

#include "base/array.h"
#include "cmd/usage.h"
#include "cmd/value.h"
#include "format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum option_key { KEY_FORMAT = 0x400, KEY_SYMBOLS, KEY_SYMBOL_DIR, KEY_FORCE, KEY_MODE };

static const struct argp_option table[] = {
	{"output", 'o', "FILE", 0,
	 "Its suffix says what it is: .json.gz, .json or .json.zst, a profile; when recording "
	 ".gbpf, a "
	 "raw capture; of convert .pb.gz (pprof) and .folded (flame graphs). - is stdout. A "
	 "recording "
	 "is NAME-PID-YYYYMMDD-HHMMSS.json.gz if it is not given",
	 OUTPUT_CHOICE_GROUP},
	{"force", KEY_FORCE, NULL, 0,
	 "Replace files that have the names already; otherwise they are kept, as FILE-1. Write a "
	 "profile to a terminal",
	 0},
	{"output-mode", KEY_MODE, "MODE", 0,
	 "Who may read the file, as chmod takes it: 0600 if it is not given, its owner alone, for "
	 "it tells of other people's programs",
	 0},
	{"format", KEY_FORMAT, FORMAT_CHOICE, 0,
	 "Of a profile: Firefox's own (default), or that of the Firefox Profiler itself, which is "
	 "smaller, loads many times faster, and says more",
	 0},
	{"symbols", KEY_SYMBOLS, "names|addresses", 0,
	 "Function names in the profile (default), or addresses to be symbolized later", 0},
	{"symbol-dir", KEY_SYMBOL_DIR, "DIR", 0,
	 "Look there, too, for files and their debug files, such as a copy of the other machine's "
	 "root directory; may be given several times. Only files with the build id that was "
	 "recorded count",
	 0},
	{0},
};

static error_t add_dir(struct output_choice *options, const char *path)
{
	struct stat at;

	if (stat(path, &at) || !S_ISDIR(at.st_mode))
		return usage_reject(options->usage,
				    "--symbol-dir %s: not a directory that can be read", path);
	if (ARRAY_ROOM(&options->symbol_dirs))
		return ENOMEM;
	options->symbol_dirs.items[options->symbol_dirs.count++] = path;
	return 0;
}

/* A name of stdout must not become a file in /dev. */
static const char *plain_path(const char *path)
{
	static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(path, names[i]))
			return "-";
	return path;
}

static error_t set_format(struct output_choice *options, const char *name)
{
	options->format = format_named(name);
	if (options->format)
		return 0;
	return usage_reject(options->usage, "--format=%s: not known; give " FORMAT_NAMES, name);
}

static error_t set_symbols(struct output_choice *options, const char *name)
{
	options->addresses = !strcmp(name, "addresses");
	if (options->addresses || !strcmp(name, "names"))
		return 0;
	return usage_reject(options->usage, "--symbols=%s: not known; give names or addresses",
			    name);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct output_choice *options = state->input;

	switch (key) {
	case 'o':
		options->path = plain_path(value);
		return 0;
	case KEY_FORCE:
		options->replaces = true;
		return 0;
	case KEY_MODE:
		return value_mode(options->usage, "--output-mode", value, &options->mode);
	case KEY_FORMAT:
		return set_format(options, value);
	case KEY_SYMBOLS:
		return set_symbols(options, value);
	case KEY_SYMBOL_DIR:
		return add_dir(options, value);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp output_choice_argp = {.options = table, .parser = parse};

error_t output_choice_check(const struct output_choice *options)
{
	if (!options->path || strcmp(options->path, "-") != 0 || options->replaces ||
	    !isatty(STDOUT_FILENO))
		return 0;
	return usage_reject(
		options->usage,
		"-o -: the profile would go to the terminal; redirect it, give a file, or "
		"add --force");
}

void output_choice_clear(struct output_choice *options)
{
	free(options->symbol_dirs.items);
	options->symbol_dirs.items = NULL;
}
