/* SPDX-License-Identifier: BSD-2-Clause */
/* convert.c - `geckobpf convert FILE... -o OUT`: profiles for other tools, the format chosen by OUT's suffix. */
#include "cmd/command_table.h"

#include "base/log.h"
#include "base/naming.h"
#include "cmd/arguments.h"
#include "cmd/progress_text.h"
#include "cmd/raw_profile.h"
#include "cmd/summary.h"
#include "cmd/slice.h"
#include "cmd/stack_files.h"
#include "format/format.h"
#include "format/out_file.h"
#include "format/stack_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME "geckobpf convert"

enum option_key {
	KEY_CPU = 0x100,
	KEY_FORMAT,
	KEY_SYMBOLS,
	KEY_SYMBOL_DIR,
	KEY_DEBUGINFOD,
	KEY_FORCE
};

#define DEBUGINFOD_URLS "DEBUGINFOD_URLS"

struct arguments {
	struct arguments_files files; /* the first member: arguments.c wants it there */
	const char *output;
	const struct format *format;
	bool by_cpu;
	struct arguments_dirs symbol_dirs;
	struct raw_profile_options raw;
};

static bool has_debuginfod_urls(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS);

	return urls && urls[strspn(urls, " ")];
}

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Its suffix says what it is: " FORMAT_SUFFIXES, 0},
	{"format", KEY_FORMAT, FORMAT_CHOICE, 0,
	 "Of a profile for the Firefox Profiler: Firefox's own (default), or its own, which is "
	 "smaller, loads many times faster, and says more",
	 0},
	{"symbols", KEY_SYMBOLS, "names|addresses", 0,
	 "Of a raw capture: function names (default), or addresses to be symbolized later", 0},
	{"symbol-dir", KEY_SYMBOL_DIR, "DIR", 0,
	 "Of a raw capture: look there for files and debug files, too, such as a copy of the "
	 "other machine's root directory; may be given several times. Only files with the build "
	 "id that was recorded count",
	 0},
	{"debuginfod", KEY_DEBUGINFOD, "URLS", OPTION_ARG_OPTIONAL,
	 "Of a raw capture: ask these servers for what is not found; without URLS, and also "
	 "without this option if it is set, those in DEBUGINFOD_URLS",
	 0},
	{"force", KEY_FORCE, NULL, 0,
	 "Replace a file that has the name already; otherwise it is kept, as OUT-1", 0},
	{"cpu", KEY_CPU, NULL, 0, "For .folded: microseconds of CPU time, not samples", 0},
	SLICE_OPTIONS,
	ARGUMENTS_OPTION_STRICT,
	ARGUMENTS_OPTION_HELP,
	{0},
};

static error_t set_debuginfod(struct arguments *arguments, const char *urls)
{
	if (urls && setenv(DEBUGINFOD_URLS, urls, 1))
		return arguments_reject(&arguments->files, "out of memory");
	if (!has_debuginfod_urls())
		return arguments_reject(&arguments->files,
					"--debuginfod: no server; give one, such as "
					"--debuginfod=https://debuginfod.debian.net, or set "
					"DEBUGINFOD_URLS");
	arguments->raw.conversion.debuginfod = true;
	return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	error_t err =
		slice_option(&arguments->raw.conversion.filter, &arguments->files, key, value);

	if (err != ARGP_ERR_UNKNOWN)
		return err;
	switch (key) {
	case KEY_SYMBOL_DIR:
		arguments->files.is_reported = arguments_add_dir(&arguments->symbol_dirs, value);
		return arguments->files.is_reported ? EINVAL : 0;
	case KEY_DEBUGINFOD:
		return set_debuginfod(arguments, value);
	case 'o':
		arguments->output = value;
		return 0;
	case KEY_FORCE:
		arguments->raw.conversion.replaces = true;
		return 0;
	case KEY_CPU:
		arguments->by_cpu = true;
		return 0;
	case KEY_FORMAT:
		arguments->raw.conversion.format = format_named(value);
		if (arguments->raw.conversion.format)
			return 0;
		return arguments_reject(&arguments->files,
					"--format=%s: not known; give " FORMAT_NAMES, value);
	case KEY_SYMBOLS:
		arguments->raw.conversion.addresses = !strcmp(value, "addresses");
		if (arguments->raw.conversion.addresses || !strcmp(value, "names"))
			return 0;
		return arguments_reject(&arguments->files,
					"--symbols=%s: not known; give names or addresses", value);
	default:
		return arguments_option(key, value, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "FILE... -o OUT",
	.doc = "Makes a profile of raw captures (.gbpf), here or on another machine, or writes "
	       "profiles and raw captures for other tools. Several files become one; what "
	       "several captures of a recording have of the same time counts once.\v"
	       "Exit status: 0; 1 when a file cannot be read or written, or --strict is not met; 2 "
	       "for a "
	       "wrong command line.",
};

static int check(struct arguments *arguments)
{
	if (!arguments->output)
		return arguments_reject(&arguments->files,
					"no output: give one with -o (see " NAME " --help)");
	arguments->format = format_of_path(arguments->output);
	if (!arguments->format && naming_is_direct(arguments->output))
		arguments->format = format_table;
	if (!arguments->format)
		return arguments_reject(&arguments->files,
					"%s: unknown suffix; give a " FORMAT_SUFFIXES " file",
					arguments->output);
	if (arguments->raw.conversion.format && arguments->format->write)
		return arguments_reject(
			&arguments->files,
			"--format: %s has one format only; give it for a .json.gz file",
			arguments->output);
	if (arguments->by_cpu && !arguments->format->write_cpu)
		return arguments_reject(
			&arguments->files,
			"--cpu: %s has samples and CPU time; give it for a .folded file",
			arguments->output);
	return 0;
}

static int write_file(const struct arguments *arguments, const struct stack_profile *profile)
{
	const struct format *format = arguments->format;
	struct out_file *file;
	int err = out_file_open(&file, arguments->output);

	if (err)
		return err;
	err = (arguments->by_cpu ? format->write_cpu : format->write)(profile,
								      out_file_stream(file));
	if (!err)
		err = out_file_commit(file, arguments->raw.conversion.replaces);
	if (!err && out_file_kept(file))
		summary_kept(arguments->output, out_file_kept(file));
	out_file_close(file);
	return err;
}

static int make_profile(const struct arguments *arguments)
{
	bool lost = false;
	int err = raw_profile_write(arguments->files.items, arguments->files.count,
				    arguments->output, &arguments->raw, &lost);

	return err ? EXIT_FAILURE : arguments_status(&arguments->files, lost);
}

static int convert(const struct arguments *arguments)
{
	struct raw_profile_options raw = arguments->raw;
	struct stack_profile *profile;
	bool lost;
	int err;

	raw.progress = NULL;
	if (stack_files_load(&profile, arguments->files.items, arguments->files.count, &raw))
		return EXIT_FAILURE;
	err = write_file(arguments, profile);
	lost = stack_files_have_losses(profile);
	stack_profile_close(profile);
	if (err)
		log_error("%s: cannot write it: %s; give another file with -o", arguments->output,
			  strerror(-err));
	return err ? EXIT_FAILURE : arguments_status(&arguments->files, lost);
}

int cmd_convert(int argc, char **argv)
{
	struct arguments arguments = {.raw = {.progress = &progress_bar, .lists_unnamed = true}};
	int status;

	arguments.raw.conversion.debuginfod = has_debuginfod_urls();
	if (!arguments_parse(&argp, argc, argv, NAME, &arguments.files, &status)) {
		arguments.raw.conversion.symbol_dirs = arguments.symbol_dirs.items;
		arguments.raw.conversion.symbol_dir_count = arguments.symbol_dirs.count;
		status = check(&arguments)         ? EXIT_USAGE
			 : arguments.format->write ? convert(&arguments)
						   : make_profile(&arguments);
	}
	free(arguments.symbol_dirs.items);
	arguments_clear(&arguments.files);
	return status;
}
