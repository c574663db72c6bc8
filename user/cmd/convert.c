/* SPDX-License-Identifier: BSD-2-Clause */
/* convert.c - `geckobpf convert FILE... -o OUT`: profiles for other tools, the format chosen by OUT's suffix. */
#include "cmd/command_table.h"

#include "base/log.h"
#include "cmd/arguments.h"
#include "cmd/raw_profile.h"
#include "cmd/stack_files.h"
#include "export/folded.h"
#include "export/out_file.h"
#include "export/pprof.h"
#include "export/stack_profile.h"

#include <stdlib.h>
#include <string.h>

#define NAME "geckobpf convert"
#define SUFFIXES                                                                                   \
	"give a .json.gz (Firefox Profiler; also .json, .json.zst), .pb.gz (pprof) or .folded "    \
	"(flame "                                                                                  \
	"graphs) file"

enum option_key { KEY_CPU = 0x100, KEY_SYMBOLS };

struct format {
	const char *suffix;
	/* NULL: a Gecko profile, of a raw capture */
	int (*write)(const struct stack_profile *profile, FILE *out);
	int (*write_cpu)(const struct stack_profile *profile, FILE *out); /* NULL: it has both */
};

struct arguments {
	struct arguments_files files; /* the first member: arguments.c wants it there */
	const char *output;
	const struct format *format;
	bool by_cpu;
	struct raw_profile_options raw;
};

static int write_samples_folded(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, false, out);
}

static int write_cpu_folded(const struct stack_profile *profile, FILE *out)
{
	return folded_write(profile, true, out);
}

static const struct format formats[] = {
	{".pb.gz", pprof_write, NULL}, {".folded", write_samples_folded, write_cpu_folded},
	{".json", NULL, NULL},         {".json.gz", NULL, NULL},
	{".json.zst", NULL, NULL},
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "A .json.gz file (or .json, .json.zst) for the Firefox Profiler, a .pb.gz one for pprof, "
	 "or a "
	 ".folded one for flame graph programs",
	 0},
	{"symbols", KEY_SYMBOLS, "names|addresses", 0,
	 "Of a raw capture: function names (default), or addresses to be symbolized later", 0},
	{"cpu", KEY_CPU, NULL, 0, "For .folded: microseconds of CPU time, not samples", 0},
	ARGUMENTS_OPTION_HELP,
	{0},
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'o':
		arguments->output = value;
		return 0;
	case KEY_CPU:
		arguments->by_cpu = true;
		return 0;
	case KEY_SYMBOLS:
		arguments->raw.addresses = !strcmp(value, "addresses");
		if (arguments->raw.addresses || !strcmp(value, "names"))
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
	.doc = "Makes a profile of a raw capture (.gbpf), here or on another machine that has the "
	       "same "
	       "files, or writes profiles and raw captures for other tools. There, several files "
	       "become "
	       "one.\v"
	       "Exit status: 0; 1 when a file cannot be read or written; 2 for a wrong command "
	       "line.",
};

/* NULL: no format has this suffix, or the path is nothing else. */
static const struct format *find_format(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t length = strlen(path), suffix_length = strlen(formats[i].suffix);

		if (length > suffix_length && path[length - suffix_length - 1] != '/' &&
		    !strcmp(path + length - suffix_length, formats[i].suffix))
			return &formats[i];
	}
	return NULL;
}

static int check(struct arguments *arguments)
{
	if (!arguments->output)
		return arguments_reject(&arguments->files,
					"no output: give one with -o (see " NAME " --help)");
	arguments->format = find_format(arguments->output);
	if (!arguments->format)
		return arguments_reject(&arguments->files, "%s: unknown suffix; " SUFFIXES,
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
		err = out_file_commit(file);
	out_file_close(file);
	return err;
}

static int make_profile(const struct arguments *arguments)
{
	const char *path = arguments->files.items[0];

	if (arguments->files.count > 1) {
		log_error("%s: one raw capture at a time becomes a profile", path);
		return EXIT_FAILURE;
	}
	return raw_profile_write(path, arguments->output, &arguments->raw) ? EXIT_FAILURE
									   : EXIT_SUCCESS;
}

static int convert(const struct arguments *arguments)
{
	struct stack_profile *profile;
	int err;

	if (stack_files_load(&profile, arguments->files.items, arguments->files.count))
		return EXIT_FAILURE;
	err = write_file(arguments, profile);
	stack_profile_close(profile);
	if (err)
		log_error("%s: cannot write it: %s; give another file with -o", arguments->output,
			  strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

int cmd_convert(int argc, char **argv)
{
	struct arguments arguments = {.raw.progress = PROGRESS_BAR};
	int status;

	if (!arguments_parse(&argp, argc, argv, NAME, &arguments.files, &status))
		status = check(&arguments)         ? EXIT_USAGE
			 : arguments.format->write ? convert(&arguments)
						   : make_profile(&arguments);
	arguments_clear(&arguments.files);
	return status;
}
