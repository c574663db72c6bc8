/* SPDX-License-Identifier: BSD-2-Clause */
/* convert.c - `geckobpf convert FILE... -o OUT`: profiles for other tools, the format chosen by OUT's suffix. */
#include "cmd/command_table.h"

#include "base/log.h"
#include "base/naming.h"
#include "base/output.h"
#include "cmd/arguments.h"
#include "cmd/output_choice.h"
#include "cmd/progress_text.h"
#include "cmd/raw_profile.h"
#include "cmd/summary.h"
#include "cmd/slice.h"
#include "cmd/stack_files.h"
#include "format/format.h"
#include "format/out_file.h"
#include "format/stack_profile.h"
#include "session/output_rights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
	KEY_CPU = 0x100,
	KEY_FORMAT,
	KEY_SYMBOLS,
	KEY_SYMBOL_DIR,
	KEY_DEBUGINFOD,
	KEY_REDACT
};

#define DEBUGINFOD_URLS "DEBUGINFOD_URLS"

struct arguments {
	struct arguments_files files; /* the first member: arguments.c wants it there */
	struct output_choice output;
	const struct format *format; /* of the output */
	bool by_cpu;
	struct slice slice;
	struct raw_profile_options raw;
};

static bool has_debuginfod_urls(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS);

	return urls && urls[strspn(urls, " ")];
}

static const struct argp_option options[] = {
	{"debuginfod", KEY_DEBUGINFOD, "URLS", OPTION_ARG_OPTIONAL,
	 "Of a raw capture: ask these servers for what is not found; without URLS, and also "
	 "without this option if it is set, those in DEBUGINFOD_URLS",
	 0},
	{"redact", KEY_REDACT, NULL, 0,
	 "Of a raw capture, for others to see: leave out arguments, directories, addresses, and "
	 "what tells the machine; says how much of each",
	 0},
	{"cpu", KEY_CPU, NULL, 0, "For .folded: microseconds of CPU time, not samples", 0},
	ARGUMENTS_OPTION_STRICT,
	USAGE_OPTIONS,
	{0},
};

static error_t set_debuginfod(struct arguments *arguments, const char *urls)
{
	if (urls && setenv(DEBUGINFOD_URLS, urls, 1))
		return ENOMEM;
	if (!has_debuginfod_urls())
		return usage_reject(&arguments->files.usage,
				    "--debuginfod: no server; give one, such as "
				    "--debuginfod=https://debuginfod.debian.net, or set "
				    "DEBUGINFOD_URLS");
	arguments->raw.conversion.debuginfod = true;
	return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->output;
		state->child_inputs[1] = &arguments->slice;
		return 0;
	case KEY_DEBUGINFOD:
		return set_debuginfod(arguments, value);
	case KEY_REDACT:
		arguments->raw.conversion.redacts = true;
		return 0;
	case KEY_CPU:
		arguments->by_cpu = true;
		return 0;
	default:
		return arguments_option(key, value, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = (const struct argp_child[]){{&output_choice_argp, 0, NULL, 0},
						{&slice_argp, 0, NULL, 0},
						{0}},
	.args_doc = "FILE... -o OUT",
	.doc = "Makes a profile of raw captures (.gbpf), here or on another machine, or writes "
	       "profiles and raw captures for other tools. Several files become one; what "
	       "several captures of a recording have of the same time counts once.\v"
	       "Exit status: 0; 1 when a file cannot be read or written, or --strict is not met; 2 "
	       "for a "
	       "wrong command line.",
};

/* A profile stays one: convert makes them of raw captures. NULL: there is none. */
static const char *find_profile(const struct arguments_files *files)
{
	size_t i;

	for (i = 0; i < files->count; i++)
		if (!strncmp(output_suffix(files->items[i]), ".json", strlen(".json")) &&
		    !conversion_is_capture(files->items[i]))
			return files->items[i];
	return NULL;
}

static error_t check(struct arguments *arguments)
{
	const char *output = arguments->output.path, *profile;
	struct usage *usage = &arguments->files.usage;

	if (!output)
		return usage_reject(usage,
				    "no output: give one with -o (see geckobpf convert --help)");
	arguments->format = format_of_path(output);
	if (!arguments->format && naming_is_direct(output))
		arguments->format = format_table;
	if (!arguments->format)
		return usage_reject(usage, "%s: unknown suffix; give a " FORMAT_SUFFIXES " file",
				    output);
	profile = arguments->format->write ? NULL : find_profile(&arguments->files);
	if (profile)
		return usage_reject(
			usage,
			"%s: a profile already; zcat or zstdcat unpacks it, and -o OUT.folded or "
			"OUT.pb.gz makes something else of it",
			profile);
	if (arguments->output.format && arguments->format->write)
		return usage_reject(usage,
				    "--format: %s has one format only; give it for a .json.gz file",
				    output);
	if (arguments->by_cpu && !arguments->format->write_cpu)
		return usage_reject(
			usage, "--cpu: %s has samples and CPU time; give it for a .folded file",
			output);
	return output_choice_check(&arguments->output);
}

static int write_file(const struct arguments *arguments, const struct stack_profile *profile)
{
	const struct format *format = arguments->format;
	const struct file_rights rights =
		output_rights(arguments->output.path, arguments->output.mode);
	struct out_file *file;
	int err = out_file_open(&file, arguments->output.path);

	if (err)
		return err;
	err = (arguments->by_cpu ? format->write_cpu : format->write)(profile,
								      out_file_stream(file));
	if (!err)
		err = out_file_commit(file, &rights, arguments->output.replaces);
	if (!err && out_file_kept(file))
		summary_kept(arguments->output.path, out_file_kept(file));
	out_file_close(file);
	return err;
}

static int make_profile(const struct arguments *arguments)
{
	bool lost = false;
	int err = raw_profile_write(arguments->files.items, arguments->files.count,
				    arguments->output.path, &arguments->raw, &lost);

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
		log_error("%s: cannot write it: %s; give another file with -o",
			  arguments->output.path, strerror(-err));
	return err ? EXIT_FAILURE : arguments_status(&arguments->files, lost);
}

static void configure(struct arguments *arguments)
{
	struct conversion_options *conversion = &arguments->raw.conversion;

	conversion->format = arguments->output.format;
	conversion->addresses = arguments->output.addresses;
	conversion->output_mode = arguments->output.mode;
	conversion->replaces = arguments->output.replaces;
	conversion->symbol_dirs = arguments->output.symbol_dirs.items;
	conversion->symbol_dir_count = arguments->output.symbol_dirs.count;
}

int cmd_convert(int argc, char **argv)
{
	struct arguments arguments = {.files.usage.command = "geckobpf convert",
				      .raw = {.progress = &progress_bar, .lists_unnamed = true}};
	int status;

	arguments.output.usage = &arguments.files.usage;
	arguments.slice = (struct slice){&arguments.files.usage, &arguments.raw.conversion.filter};
	arguments.raw.conversion.debuginfod = has_debuginfod_urls();
	if (!arguments_parse(&argp, argc, argv, &arguments.files, &status)) {
		configure(&arguments);
		status = check(&arguments)         ? usage_report(&arguments.files.usage)
			 : arguments.format->write ? convert(&arguments)
						   : make_profile(&arguments);
	}
	output_choice_clear(&arguments.output);
	arguments_clear(&arguments.files);
	return status;
}
