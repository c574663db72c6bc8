/* SPDX-License-Identifier: BSD-2-Clause */
/* record_options.c - see record_options.h. */
#include "cmd/record_options.h"

#include "base/log.h"
#include "base/naming.h"
#include "base/output.h"
#include "cmd/counter_option.h"
#include "cmd/pid_option.h"
#include "cmd/progress_text.h"
#include "cmd/value.h"
#include "cmd/words.h"
#include "format/format.h"
#include "session/counter_words.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_RATE_HZ 1000
#define MAX_RATE_HZ 20000
#define DEFAULT_BUFFER_BYTES (128ULL << 20)
#define DEFAULT_UNWIND_BYTES (64ULL << 20)
#define MAX_COUNT 1000000
#define DEFAULT_INCLUDE_ARGS 100

enum option_key {
	KEY_USER_ONLY = 0x100,
	KEY_KERNEL,
	KEY_NO_CHILDREN,
	KEY_THREADS,
	KEY_PROFILE_NAME,
	KEY_INCLUDE_ARGS,
	KEY_TOP,
	KEY_DUMP,
	KEY_FORGET,
	KEY_UNWIND_MEMORY,
	KEY_BUFFER_SIZE,
	KEY_RING,
	KEY_STREAM,
	KEY_DELAY,
	KEY_PROGRESS,
	KEY_CONTROL,
	KEY_STRICT,
	KEY_NO_PRIORITY,
	KEY_ALL_PROCESSES,
	KEY_COUNTERS,
	KEY_RESCUE,
	KEY_OFF_CPU,
};

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "What to profile:", 1},
	{"pid", 'p', "PID|NAME[,...]", 0,
	 "These processes, their threads, and all their descendants", 0},
	{"all", 'a', NULL, 0, "Every process on the machine", 0},
	{"no-children", KEY_NO_CHILDREN, NULL, 0,
	 "Without descendants: neither those that run already nor those to come", 0},
	{"threads", KEY_THREADS, "NAME[,NAME...]", 0,
	 "Samples of threads with such names alone; * is any characters, ? is one", 0},
	{NULL, 0, NULL, 0, "How:", 2},
	{"rate", 'r', "HZ", 0,
	 "Samples a second and CPU, 1 to 20000 (default 1000); 3 % fewer, so as to be in step "
	 "with no timer",
	 0},
	{"frequency", 'F', "HZ", OPTION_ALIAS, NULL, 0},
	{"duration", 'd', "SEC", 0,
	 "Stop after this time, such as 10, 0.5 or 2m. Without it: until Ctrl-C, SIGTERM, SIGHUP, "
	 "or until the last target "
	 "exits. Each of them saves the profile",
	 0},
	{"delay", KEY_DELAY, "SEC", 0,
	 "Take samples only after this time; --duration counts from then", 0},
	{"buffer-size", KEY_BUFFER_SIZE, "MIB", 0,
	 "Memory for what is recorded, of all processes together (default 128). When it is full, "
	 "the oldest samples make room for new ones. All together it takes 55 to 70 MB usually, "
	 "and "
	 "what it may take at most is made to fit into the memory that there is",
	 0},
	{"ring", KEY_RING, NULL, 0,
	 "A flight recorder: run until stopped and keep the latest that fits into --buffer-size. "
	 "SIGUSR2 writes a profile of it",
	 0},
	{"user-only", KEY_USER_ONLY, NULL, 0, "No kernel frames", 0},
	{"kernel", KEY_KERNEL, NULL, 0, "Kernel frames too (the default)", 0},
	{"off-cpu", KEY_OFF_CPU, "on|off", 0,
	 "Samples also of the time that threads are off the CPU, with the stack that they wait in "
	 "and "
	 "why (not complete yet, so off by default; see OFF THE CPU in geckobpf(1))",
	 0},
	{"counters", KEY_COUNTERS, "NAME[,NAME...]|all|none", 0,
	 "What is counted of each process and shown as a track of it: memory (its resident set), "
	 "disk (bytes read and written) and network (bytes by internet sockets), which are "
	 "the default; faults (page faults); switches "
	 "(context switches)",
	 0},
	{"no-priority", KEY_NO_PRIORITY, NULL, 0,
	 "Do not record at a raised priority: where others keep all CPUs busy, samples are lost",
	 0},
	{"unwind-memory", KEY_UNWIND_MEMORY, "MIB", 0,
	 "Limit of the unwind tables in the kernel (default 64)", 0},
	{NULL, 0, NULL, 0, "What to write:", OUTPUT_CHOICE_GROUP},
	{"stream", KEY_STREAM, "FILE.gbpf", 0,
	 "A raw capture that is written while it records, so that a crash loses no more than the "
	 "last second, and which may hold more than --buffer-size. No other file is written, "
	 "unless "
	 "--output asks for one; `geckobpf convert` makes a profile of it",
	 0},
	{"all-processes", KEY_ALL_PROCESSES, NULL, 0,
	 "Show each process by itself; otherwise those that did little and were soon gone are "
	 "gathered into one, and kernel threads into another",
	 0},
	{"rescue", KEY_RESCUE, NULL, 0,
	 "A second Ctrl-C, while it saves, leaves a raw capture, which takes a fraction of the "
	 "time; only a third one leaves nothing",
	 0},
	{"strict", KEY_STRICT, NULL, 0,
	 "Exit status 1 if samples or events were lost, or samples overwritten without --ring", 0},
	{"profile-name", KEY_PROFILE_NAME, "NAME", 0, "The title of the profile", 0},
	{"include-args", KEY_INCLUDE_ARGS, "N", OPTION_ARG_OPTIONAL,
	 "Put the first N arguments (default 100) into the names of processes", 0},
	{"top", KEY_TOP, "N", 0, "At the end, print the N functions that had the most samples", 0},
	{"dump-records", KEY_DUMP, "FILE", OPTION_HIDDEN, "Write every record as it came", 0},
	{"forget-after", KEY_FORGET, "SEC", OPTION_HIDDEN,
	 "Forget processes that ended so long ago, with their samples", 0},
	{NULL, 0, NULL, 0, "Messages:", 4},
	USAGE_OPTIONS,
	{"progress", KEY_PROGRESS, "bar|json|none", 0,
	 "What is shown while it records and saves: a line on the terminal (default), nothing, or "
	 "for programs, while it saves, lines of JSON on stderr",
	 0},
	{"control", KEY_CONTROL, "FD[,FD]", 0,
	 "Take commands from this descriptor, a socket, and answer there; or read from the first, "
	 "write to the second: "
	 "see CONTROL in geckobpf(1)",
	 0},
	{"quiet", 'q', NULL, 0, "Only errors", 0},
	{"verbose", 'v', NULL, 0, "More of them", 0},
	{0},
};

static error_t parse_rate(struct record_options *options, const char *text)
{
	size_t rate;

	if (value_count(&options->usage, "--rate", text, MAX_RATE_HZ, &rate) || !rate) {
		options->usage.text[0] = '\0';
		return usage_reject(&options->usage,
				    "--rate %s: out of range; give 1 to %d samples a second", text,
				    MAX_RATE_HZ);
	}
	options->config.rate_hz = (uint32_t)rate;
	return 0;
}

static error_t parse_progress(struct record_options *options, const char *text)
{
	static const struct {
		const char *name;
		const struct progress_style *style;
	} styles[] = {{"bar", &progress_bar}, {"json", &progress_json}, {"none", NULL}};
	size_t i;

	for (i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		if (strcmp(text, styles[i].name))
			continue;
		options->progress = styles[i].style;
		return 0;
	}
	return usage_reject(&options->usage, "--progress=%s: not known; give bar, json or none",
			    text);
}

static error_t parse_off_cpu(struct record_options *options, const char *text)
{
	options->config.off_cpu = !strcmp(text, "on");
	if (options->config.off_cpu || !strcmp(text, "off"))
		return 0;
	return usage_reject(&options->usage, "--off-cpu=%s: not known; give on or off", text);
}

static bool parse_descriptor(const char *text, int *out)
{
	char *end = NULL;
	unsigned long fd = ULONG_MAX;

	if (*text >= '0' && *text <= '9')
		fd = strtoul(text, &end, 10);
	if (!end || *end || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
		return false;
	*out = (int)fd;
	return true;
}

static error_t parse_control(struct record_options *options, const char *text)
{
	char in[16];
	const char *comma = strchr(text, ','), *out = comma ? comma + 1 : in;

	snprintf(in, sizeof(in), "%.*s", (int)strcspn(text, ","), text);
	if (!parse_descriptor(in, &options->control_in) ||
	    !parse_descriptor(out, &options->control_out))
		return usage_reject(
			&options->usage,
			"--control=%s: not an open descriptor; give the number of a socket, "
			"or of two pipes, such as 3,4",
			text);
	return 0;
}

/* A program is meant where that is clear; otherwise a word may be a mistyped command of ours, or one of perf's. */
static error_t take_command(struct record_options *options, const char *word,
			    struct argp_state *state)
{
	const bool is_clear = options->is_record || state->quoted || strchr(word, '/');

	if (state->next <= options->usage.environment_end)
		return usage_reject(&options->usage, "%s: not an option; give a command after --",
				    word);
	if (!is_clear)
		return words_reject(&options->usage, word);
	options->config.argv = state->argv + state->next - 1;
	state->next = state->argc; /* all that follows is its own */
	return 0;
}

static error_t parse_target_option(int key, char *value, struct record_options *options,
				   struct argp_state *state)
{
	switch (key) {
	case 'p':
		return pid_option_parse(&options->usage, value, &options->pids);
	case 'a':
		options->config.all = true;
		return 0;
	case KEY_THREADS:
		options->config.threads = value;
		return 0;
	case KEY_NO_CHILDREN:
		options->config.children = false;
		return 0;
	case ARGP_KEY_ARG:
		return take_command(options, value, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_output_option(int key, char *value, struct record_options *options)
{
	struct session_config *config = &options->config;

	switch (key) {
	case KEY_STREAM:
		config->stream = value;
		return 0;
	case KEY_PROFILE_NAME:
		config->profile_name = value;
		return 0;
	case KEY_INCLUDE_ARGS:
		config->include_args = DEFAULT_INCLUDE_ARGS;
		return value ? value_count(&options->usage, "--include-args", value, MAX_COUNT,
					   &config->include_args)
			     : 0;
	case KEY_PROGRESS:
		return parse_progress(options, value);
	case KEY_CONTROL:
		return parse_control(options, value);
	case KEY_NO_PRIORITY:
		options->keeps_priority = true;
		return 0;
	case KEY_ALL_PROCESSES:
		config->each_process = true;
		return 0;
	case KEY_RESCUE:
		config->rescues = true;
		return 0;
	case KEY_STRICT:
		options->is_strict = true;
		return 0;
	case KEY_TOP:
		return value_count(&options->usage, "--top", value, MAX_COUNT, &config->top);
	case KEY_DUMP:
		config->dump_path = value;
		return 0;
	case KEY_FORGET:
		return value_seconds(&options->usage, "--forget-after", value, &config->forget_s);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct record_options *options = state->input;
	struct session_config *config = &options->config;
	error_t err;

	switch (key) {
	case 'r':
	case 'F':
		return parse_rate(options, value);
	case 'd':
		return value_seconds(&options->usage, "--duration", value, &config->duration_s);
	case KEY_USER_ONLY:
	case KEY_KERNEL:
		config->kernel_stacks = key == KEY_KERNEL;
		return 0;
	case KEY_DELAY:
		return value_seconds_or_0(&options->usage, "--delay", value, &config->delay_s);
	case KEY_UNWIND_MEMORY:
		return value_mib(&options->usage, "--unwind-memory", value, 4, 1024,
				 &config->unwind_bytes);
	case KEY_BUFFER_SIZE:
		return value_mib(&options->usage, "--buffer-size", value, 1, 1 << 20,
				 &config->buffer_bytes);
	case KEY_COUNTERS:
		return counter_option_parse(&options->usage, value, &config->counters);
	case KEY_OFF_CPU:
		return parse_off_cpu(options, value);
	case KEY_RING:
		config->ring = true;
		return 0;
	case 'q':
		log_set_level(LOG_ERROR);
		return 0;
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->output;
		return 0;
	default:
		err = parse_target_option(key, value, options, state);
		if (err == ARGP_ERR_UNKNOWN)
			err = parse_output_option(key, value, options);
		return err == ARGP_ERR_UNKNOWN ? usage_option(&options->usage, key, state) : err;
	}
}

/* Where the file would be; false: its directory cannot be looked at. */
static bool stat_directory(const char *path, const char *name, struct stat *out)
{
	char *directory = name == path ? strdup(".") : strndup(path, (size_t)(name - path));
	bool is_there = directory && !stat(directory, out);

	free(directory);
	return is_there;
}

/* Whether they name one file, which need not be there. */
static bool is_same_path(const char *a, const char *b)
{
	const char *a_slash = strrchr(a, '/'), *b_slash = strrchr(b, '/');
	const char *a_name = a_slash ? a_slash + 1 : a, *b_name = b_slash ? b_slash + 1 : b;
	struct stat a_at, b_at;

	if (strcmp(a_name, b_name) != 0)
		return false;
	return stat_directory(a, a_name, &a_at) && stat_directory(b, b_name, &b_at) &&
	       a_at.st_dev == b_at.st_dev && a_at.st_ino == b_at.st_ino;
}

/* What the files that are written can be called. 0 or EINVAL. */
static error_t check_files(struct record_options *options)
{
	const char *output = options->output.path, *stream = options->config.stream;
	const char *suffix = output ? output_suffix(output) : "";

	if (stream && strcmp(output_suffix(stream), ".gbpf") != 0)
		return usage_reject(&options->usage,
				    "%s: a stream is a raw capture; give a .gbpf file", stream);
	if (stream && output && is_same_path(stream, output))
		return usage_reject(
			&options->usage,
			"%s: --stream and --output are two files; give it once, or another",
			stream);
	if (output && options->output.format && !strcmp(suffix, ".gbpf"))
		return usage_reject(&options->usage,
				    "--format: %s is a raw capture; give it to geckobpf convert",
				    output);
	if (!output || *suffix || naming_is_direct(output))
		return output_choice_check(&options->output);
	if (format_of_path(output))
		return usage_reject(
			&options->usage,
			"%s: convert writes such files; record with -o FILE.gbpf, then: "
			"geckobpf convert FILE.gbpf -o %s",
			output, output);
	return usage_reject(
		&options->usage,
		"%s: unknown suffix; give a .json.gz, .json, .json.zst or .gbpf file, or "
		"- for stdout",
		output);
}

/* For who types geckobpf and nothing else. */
static void show_beginning(void)
{
	log_error("nothing to profile; for example:");
	log_more("sudo geckobpf -- make -j8            a command and all that it starts");
	log_more("sudo geckobpf --pid nginx -d 10      running processes, for 10 s");
	log_more("sudo geckobpf --all -d 10            the whole machine");
	log_more("open it at https://profiler.firefox.com, or: geckobpf report FILE");
	log_more("all options: geckobpf --help, more examples: man geckobpf");
}

static error_t check_targets(struct record_options *options)
{
	const struct session_config *config = &options->config;
	const int ways = (options->pids.count > 0) + config->all + (config->argv != NULL);

	if (ways == 1)
		return 0;
	if (ways == 0)
		return usage_reject(
			&options->usage,
			"nothing to profile: give --pid PID, --all, or -- COMMAND (see --help)");
	return usage_reject(
		&options->usage,
		"more than one thing to profile: give only one of --pid, --all and -- COMMAND%s",
		options->usage.environment_end ? "; GECKOBPF_OPTIONS counts, too" : "");
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
	.children = (const struct argp_child[]){{&output_choice_argp, 0, NULL, 0}, {0}},
	.args_doc = "--pid PID[,PID...]\n--all\n-- COMMAND [ARG...]",
	.doc = "Profiles Linux programs from the kernel and writes a profile for the Firefox "
	       "Profiler (https://profiler.firefox.com).\v"
	       "While it records, SIGUSR1 pauses it and lets it go on, SIGUSR2 writes a profile of "
	       "what there is so far.\n\n"
	       "The environment variable GECKOBPF_OPTIONS holds further options, separated by "
	       "blanks; those of the command line come after them.\n\n"
	       "Other commands: `geckobpf report FILE...` shows what is hot in profiles as text, "
	       "`geckobpf convert FILE... -o OUT` writes them for pprof and for flame graphs; each "
	       "has a --help.\n\n"
	       "Exit status: 0, or the command's own; 1 when the profile could not be made (what "
	       "was recorded is then saved as a raw capture where there is room, unless a second "
	       "signal ended the saving); 2 for a wrong command line; 126 or 127 when the command "
	       "cannot be run.",
};

/* ---- GECKOBPF_OPTIONS ---------------------------------------------------------- */

/* The words of the variable before what the user gave, which thus has the last word. How many there are, or -ENOMEM. */
static int add_environment(struct record_options *options, int argc, char **argv)
{
	const char *text = getenv("GECKOBPF_OPTIONS");
	char *rest, *word;
	int count = 0;

	options->words = strdup(text ? text : "");
	/* Two characters of the text make a word at most. */
	options->argv = options->words ? calloc((size_t)argc + strlen(options->words) / 2 + 2,
						sizeof(*options->argv))
				       : NULL;
	if (!options->argv)
		return -ENOMEM;
	options->argv[count++] = argv[0];
	rest = options->words;
	while ((word = strsep(&rest, " \t\n")))
		if (*word)
			options->argv[count++] = word;
	options->usage.environment_end = count > 1 ? count : 0;
	memcpy(options->argv + count, argv + 1, (size_t)argc * sizeof(*argv));
	return count + argc - 1;
}

/* ---- all of it ----------------------------------------------------------------- */

static void set_defaults(struct record_options *options)
{
	*options = (struct record_options){
		.usage.command = "geckobpf",
		.config = {.rate_hz = DEFAULT_RATE_HZ,
			   .children = true,
			   .kernel_stacks = true,
			   .counters = COUNTERS_DEFAULT,
			   .buffer_bytes = DEFAULT_BUFFER_BYTES,
			   .unwind_bytes = DEFAULT_UNWIND_BYTES},
		.progress = &progress_bar,
		.control_in = -1,
		.control_out = -1,
	};
}

/* What the options say, for the session. */
static void configure(struct record_options *options)
{
	struct session_config *config = &options->config;

	config->pids = options->pids.items;
	config->pid_count = options->pids.count;
	config->output = options->output.path;
	config->format = options->output.format;
	config->addresses = options->output.addresses;
	config->output_mode = options->output.mode;
	config->replaces = options->output.replaces;
	config->symbol_dirs = options->output.symbol_dirs.items;
	config->symbol_dir_count = options->output.symbol_dirs.count;
}

int record_options_parse(struct record_options *out, int argc, char **argv, int *status)
{
	int count;

	set_defaults(out);
	out->output.usage = &out->usage;
	out->is_record = !strcmp(argv[0], "record");
	count = add_environment(out, argc, argv);
	if (count < 0) {
		log_error("out of memory");
		*status = EXIT_FAILURE;
		return -1;
	}
	if (usage_parse(&argp, count, out->argv, ARGP_IN_ORDER, &out->usage, out, status))
		return -1;
	*status = EXIT_USAGE;
	if (count == 1) {
		show_beginning();
		return -1;
	}
	if (check_files(out) || check_targets(out)) {
		*status = usage_report(&out->usage);
		return -1;
	}
	configure(out);
	return 0;
}

void record_options_clear(struct record_options *options)
{
	free(options->pids.items);
	output_choice_clear(&options->output);
	free(options->words);
	free(options->argv);
}
