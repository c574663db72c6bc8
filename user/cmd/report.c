/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - `geckobpf report FILE...`: what is hot in profiles, as text. */
#include "cmd/command_table.h"

#include "base/log.h"
#include "cmd/arguments.h"
#include "cmd/raw_profile.h"
#include "cmd/slice.h"
#include "cmd/stack_files.h"
#include "cmd/value.h"
#include "format/folded.h"
#include "format/report.h"
#include "format/report_json.h"
#include "format/stack_profile.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_TOP 20
#define MAX_TOP 1000000000UL

struct arguments {
	struct arguments_files files; /* the first member: arguments.c wants it there */
	struct report_options options;
	struct slice slice;
	struct raw_profile_options raw;
	bool is_folded, is_json, by_cpu;
	bool has_table_option;
};

enum option_key {
	KEY_BY = 0x100,
	KEY_PER_THREAD,
	KEY_PER_PROCESS,
	KEY_TOP,
	KEY_FOLDED,
	KEY_JSON,
	KEY_CPU,
};

static const struct argp_option options[] = {
	{"by", KEY_BY, "KEY", 0, "What a row is: a function (the default), a thread or a process",
	 0},
	{"per-thread", KEY_PER_THREAD, NULL, 0, "A table for each thread", 0},
	{"per-process", KEY_PER_PROCESS, NULL, 0, "A table for each process", 0},
	{"top", KEY_TOP, "N", 0, "Rows of a table (default 20; 0: all)", 0},
	{"folded", KEY_FOLDED, NULL, 0,
	 "All stacks instead, as flame graph programs read them: process;thread;function;... count",
	 0},
	{"json", KEY_JSON, NULL, 0, "The table as JSON, for scripts; its fields are in geckobpf(1)",
	 0},
	{"cpu", KEY_CPU, NULL, 0, "With --folded: microseconds of CPU time, not samples", 0},
	ARGUMENTS_OPTION_STRICT,
	USAGE_OPTIONS,
	{0},
};

static error_t parse_by(struct arguments *arguments, const char *text)
{
	static const struct {
		const char *name;
		enum hot_key key;
	} keys[] = {{"function", HOT_FUNCTION}, {"thread", HOT_THREAD}, {"process", HOT_PROCESS}};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(text, keys[i].name) != 0)
			continue;
		arguments->options.by = keys[i].key;
		return 0;
	}
	return usage_reject(&arguments->files.usage,
			    "--by=%s: not known; give function, thread or process", text);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->slice;
		return 0;
	case KEY_BY:
		arguments->has_table_option = true;
		return parse_by(arguments, value);
	case KEY_PER_THREAD:
	case KEY_PER_PROCESS:
		arguments->has_table_option = true;
		arguments->options.part =
			key == KEY_PER_THREAD ? REPORT_EACH_THREAD : REPORT_EACH_PROCESS;
		return 0;
	case KEY_TOP:
		arguments->has_table_option = true;
		return value_count(&arguments->files.usage, "--top", value, MAX_TOP,
				   &arguments->options.top);
	case KEY_JSON:
		arguments->is_json = true;
		return 0;
	case KEY_FOLDED:
		arguments->is_folded = true;
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
	.children = (const struct argp_child[]){{&slice_argp, 0, NULL, 0}, {0}},
	.args_doc = "FILE...",
	.doc = "Shows what is hot in profiles that geckobpf wrote (.json, .json.gz, .json.zst, "
	       ".gbpf). "
	       "Several "
	       "files are counted together.\v"
	       "`self` is the function itself, `total` with all that it called; `wall` is samples "
	       "times "
	       "interval, `CPU` what the kernel accounted for. `(no stack)` used its CPU time "
	       "where no "
	       "sample was taken.\n\n"
	       "Exit status: 0; 1 when a file cannot be read; 2 for a wrong command line.",
};

static int check(struct arguments *arguments)
{
	if (arguments->is_json && (arguments->is_folded || arguments->options.part != REPORT_WHOLE))
		return usage_reject(&arguments->files.usage,
				    "--json: one table of all; give no --folded, --per-thread or "
				    "--per-process with it");
	if (arguments->is_folded && arguments->has_table_option)
		return usage_reject(&arguments->files.usage,
				    "--folded: prints all stacks; give no --by, --per-thread, "
				    "--per-process or --top with it");
	if (arguments->by_cpu && !arguments->is_folded)
		return usage_reject(&arguments->files.usage,
				    "--cpu: tables have CPU times anyway; give it with --folded");
	return 0;
}

static int print(const struct arguments *arguments)
{
	struct stack_profile *profile;
	bool lost;
	int err;

	if (stack_files_load(&profile, arguments->files.items, arguments->files.count,
			     &arguments->raw))
		return EXIT_FAILURE;
	if (arguments->is_folded)
		err = folded_write(profile, arguments->by_cpu, stdout);
	else if (arguments->is_json)
		err = report_json_write(profile, &arguments->options, stdout);
	else
		err = report_write(profile, &arguments->options, stdout);
	lost = stack_files_have_losses(profile);
	stack_profile_close(profile);
	if (err)
		log_error("stdout: cannot write the report: %s", strerror(-err));
	return err ? EXIT_FAILURE : arguments_status(&arguments->files, lost);
}

int cmd_report(int argc, char **argv)
{
	struct arguments arguments = {.files.usage.command = "geckobpf report",
				      .options.top = DEFAULT_TOP};
	int status;

	arguments.slice = (struct slice){&arguments.files.usage, &arguments.raw.conversion.filter};
	if (!arguments_parse(&argp, argc, argv, &arguments.files, &status))
		status = check(&arguments) ? usage_report(&arguments.files.usage)
					   : print(&arguments);
	arguments_clear(&arguments.files);
	return status;
}
