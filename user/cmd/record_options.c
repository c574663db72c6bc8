/* SPDX-License-Identifier: BSD-2-Clause */
/* record_options.c - see record_options.h. */
#include "cmd/record_options.h"

#include "base/array.h"
#include "base/log.h"
#include "base/output.h"
#include "cmd/progress_text.h"
#include "format/format.h"

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
#define MIB (1ULL << 20)
#define DEFAULT_INCLUDE_ARGS 100

enum option_key {
	KEY_USER_ONLY = 0x100,
	KEY_KERNEL,
	KEY_NO_CHILDREN,
	KEY_FORMAT,
	KEY_SYMBOLS,
	KEY_SYMBOL_DIR,
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
	KEY_FORCE,
	KEY_NO_PRIORITY,
	KEY_VERSION,
	KEY_HELP = '?',
};

static const struct argp_option option_table[] = {
	{NULL, 0, NULL, 0, "What to profile:", 1},
	{"pid", 'p', "PID[,PID...]", 0,
	 "These processes, their threads, and the children they fork", 0},
	{"all", 'a', NULL, 0, "Every process on the machine", 0},
	{"no-children", KEY_NO_CHILDREN, NULL, 0, "Do not follow the children that a process forks",
	 0},
	{NULL, 0, NULL, 0, "How:", 2},
	{"rate", 'r', "HZ", 0,
	 "Samples a second and CPU, 1 to 20000 (default 1000); 0.3 % fewer, so as to be in step "
	 "with no timer",
	 0},
	{"frequency", 'F', "HZ", OPTION_ALIAS, NULL, 0},
	{"duration", 'd', "SEC", 0,
	 "Stop after this time; fractions are allowed. Without it: until Ctrl-C, SIGTERM, SIGHUP, "
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
	{"no-priority", KEY_NO_PRIORITY, NULL, 0,
	 "Do not record at a raised priority: where others keep all CPUs busy, samples are lost",
	 0},
	{"unwind-memory", KEY_UNWIND_MEMORY, "MIB", 0,
	 "Limit of the unwind tables in the kernel (default 64)", 0},
	{NULL, 0, NULL, 0, "What to write:", 3},
	{"output", 'o', "FILE", 0,
	 "A .json, .json.gz or .json.zst file, - for stdout (default "
	 "NAME-PID-YYYYMMDD-HHMMSS.json.gz)",
	 0},
	{"stream", KEY_STREAM, "FILE.gbpf", 0,
	 "A raw capture that is written while it records, so that a crash loses no more than the "
	 "last second, and which may hold more than --buffer-size. No other file is written, "
	 "unless "
	 "--output asks for one; `geckobpf convert` makes a profile of it",
	 0},
	{"format", KEY_FORMAT, FORMAT_CHOICE, 0,
	 "Of the profile: Firefox's own (default), or that of the Firefox Profiler itself, which "
	 "is smaller, loads many times faster, and says more",
	 0},
	{"symbols", KEY_SYMBOLS, "names|addresses", 0,
	 "Function names in the file (default), or addresses to be symbolized later", 0},
	{"symbol-dir", KEY_SYMBOL_DIR, "DIR", 0,
	 "Look there, too, for the debug files of stripped programs; may be given several times",
	 0},
	{"force", KEY_FORCE, NULL, 0,
	 "Replace files that have the names already; otherwise they are kept, as FILE-1", 0},
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
	{"help", KEY_HELP, NULL, 0, "Show this and exit", 0},
	{"version", KEY_VERSION, NULL, 0, "Show the version and exit", 0},
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

/* Logs why the command line is not accepted. */
static error_t __attribute__((format(printf, 2, 3)))
reject(struct record_options *options, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_at(LOG_ERROR, format, args);
	va_end(args);
	options->is_reported = true;
	return EINVAL;
}

static bool parse_number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoul(text, &end, 10);
	return !errno && !*end && *out <= max;
}

static error_t parse_pids(struct record_options *options, const char *list)
{
	char *copy = strdup(list), *rest = copy, *item;
	error_t err = copy ? 0 : ENOMEM;
	unsigned long pid;

	while (!err && (item = strsep(&rest, ","))) {
		if (!parse_number(item, 1UL << 22, &pid) || !pid)
			err = reject(options,
				     "--pid %s: '%s' is not a process id; give numbers, separated "
				     "by commas",
				     list, item);
		else if (ARRAY_ROOM(&options->pids))
			err = ENOMEM;
		else
			options->pids.items[options->pids.count++] = (pid_t)pid;
	}
	free(copy);
	return err;
}

static error_t parse_rate(struct record_options *options, const char *text)
{
	unsigned long rate;

	if (!parse_number(text, MAX_RATE_HZ, &rate) || !rate)
		return reject(options, "--rate %s: out of range; give 1 to %d samples a second",
			      text, MAX_RATE_HZ);
	options->config.rate_hz = (uint32_t)rate;
	return 0;
}

static error_t parse_seconds(struct record_options *options, const char *option, const char *text,
			     double *out)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > 1e9)
		return reject(options, "%s %s: not a time; give seconds, such as 10 or 0.5", option,
			      text);
	*out = seconds;
	return 0;
}

static error_t parse_delay(struct record_options *options, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0) || seconds > 1e9)
		return reject(options, "--delay %s: not a time; give seconds, such as 10 or 0.5",
			      text);
	options->config.delay_s = seconds;
	return 0;
}

static error_t parse_format(struct record_options *options, const char *text)
{
	options->config.format = format_named(text);
	if (!options->config.format)
		return reject(options, "--format=%s: not known; give " FORMAT_NAMES, text);
	return 0;
}

static error_t parse_symbols(struct record_options *options, const char *text)
{
	options->config.addresses = !strcmp(text, "addresses");
	if (!options->config.addresses && strcmp(text, "names"))
		return reject(options, "--symbols=%s: not known; give names or addresses", text);
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
	return reject(options, "--progress=%s: not known; give bar, json or none", text);
}

static error_t parse_count(struct record_options *options, const char *option, const char *text,
			   size_t *out)
{
	unsigned long count;

	if (!parse_number(text, 1000000, &count))
		return reject(options, "%s %s: not a number; give a count, such as 10", option,
			      text);
	*out = count;
	return 0;
}

static error_t parse_unwind_memory(struct record_options *options, const char *text)
{
	unsigned long mib;

	if (!parse_number(text, 1024, &mib) || mib < 4)
		return reject(options, "--unwind-memory %s: out of range; give 4 to 1024 MiB",
			      text);
	options->config.unwind_bytes = mib * MIB;
	return 0;
}

static error_t parse_buffer_size(struct record_options *options, const char *text)
{
	unsigned long mib;

	if (!parse_number(text, 1UL << 20, &mib) || !mib)
		return reject(options, "--buffer-size %s: out of range; give 1 to 1048576 MiB",
			      text);
	options->config.buffer_bytes = mib * MIB;
	return 0;
}

static bool parse_descriptor(const char *text, int *out)
{
	unsigned long fd;

	if (!parse_number(text, INT_MAX, &fd) || fcntl((int)fd, F_GETFD) < 0)
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
		return reject(options,
			      "--control=%s: not an open descriptor; give the number of a socket, "
			      "or of two pipes, such as 3,4",
			      text);
	return 0;
}

static error_t parse_target_option(int key, char *value, struct record_options *options,
				   struct argp_state *state)
{
	switch (key) {
	case 'p':
		return parse_pids(options, value);
	case 'a':
		options->config.all = true;
		return 0;
	case KEY_NO_CHILDREN:
		options->config.children = false;
		return 0;
	case ARGP_KEY_ARG: /* the command; all that follows is its own */
		options->config.argv = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_output_option(int key, char *value, struct record_options *options)
{
	struct session_config *config = &options->config;

	switch (key) {
	case 'o':
		config->output = value;
		return 0;
	case KEY_STREAM:
		config->stream = value;
		return 0;
	case KEY_FORMAT:
		return parse_format(options, value);
	case KEY_SYMBOLS:
		return parse_symbols(options, value);
	case KEY_SYMBOL_DIR:
		options->is_reported = arguments_add_dir(&options->symbol_dirs, value);
		return options->is_reported ? EINVAL : 0;
	case KEY_PROFILE_NAME:
		config->profile_name = value;
		return 0;
	case KEY_INCLUDE_ARGS:
		config->include_args = DEFAULT_INCLUDE_ARGS;
		return value ? parse_count(options, "--include-args", value, &config->include_args)
			     : 0;
	case KEY_PROGRESS:
		return parse_progress(options, value);
	case KEY_CONTROL:
		return parse_control(options, value);
	case KEY_NO_PRIORITY:
		options->keeps_priority = true;
		return 0;
	case KEY_FORCE:
		config->replaces = true;
		return 0;
	case KEY_STRICT:
		options->is_strict = true;
		return 0;
	case KEY_TOP:
		return parse_count(options, "--top", value, &config->top);
	case KEY_DUMP:
		config->dump_path = value;
		return 0;
	case KEY_FORGET:
		return parse_seconds(options, "--forget-after", value, &config->forget_s);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct record_options *options = state->input;
	error_t err;

	switch (key) {
	case 'r':
	case 'F':
		return parse_rate(options, value);
	case 'd':
		return parse_seconds(options, "--duration", value, &options->config.duration_s);
	case KEY_USER_ONLY:
	case KEY_KERNEL:
		options->config.kernel_stacks = key == KEY_KERNEL;
		return 0;
	case KEY_DELAY:
		return parse_delay(options, value);
	case KEY_UNWIND_MEMORY:
		return parse_unwind_memory(options, value);
	case KEY_BUFFER_SIZE:
		return parse_buffer_size(options, value);
	case KEY_RING:
		options->config.ring = true;
		return 0;
	case 'q':
		log_set_level(LOG_ERROR);
		return 0;
	case 'v':
		log_set_level(LOG_DEBUG);
		return 0;
	case KEY_HELP:
	case KEY_VERSION:
		options->show = key;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_ERROR:
		options->error_at = state->next;
		return 0;
	default:
		err = parse_target_option(key, value, options, state);
		return err == ARGP_ERR_UNKNOWN ? parse_output_option(key, value, options) : err;
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

static int check_arguments(struct record_options *options)
{
	struct session_config *config = &options->config;
	int ways = (options->pids.count > 0) + config->all + (config->argv != NULL);

	if (config->stream && config->output && is_same_path(config->stream, config->output))
		return reject(options,
			      "%s: --stream and --output are two files; give it once, or another",
			      config->stream);
	if (config->format && config->output && !strcmp(output_suffix(config->output), ".gbpf"))
		return reject(options, "--format: %s is a raw capture; give it to geckobpf convert",
			      config->output);
	if (ways == 1)
		return 0;
	if (ways == 0)
		return reject(
			options,
			"nothing to profile: give --pid PID, --all, or -- COMMAND (see --help)");
	return reject(
		options,
		"more than one thing to profile: give only one of --pid, --all and -- COMMAND");
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse_option,
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

static int parse_arguments(int argc, char **argv, struct record_options *options)
{
	/* Without argp's own errors and help, so that each error is one line of ours. */
	const unsigned int flags = ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP;
	int at;
	error_t err;

	err = argp_parse(&argp, argc, argv, flags, NULL, options);
	at = options->error_at;
	if (err && !options->is_reported)
		log_error("%s: not an option, or its value is missing; see geckobpf --help",
			  at > 0 && at <= argc ? argv[at - 1] : "command line");
	if (err || options->show)
		return err;
	return check_arguments(options);
}

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
	memcpy(options->argv + count, argv + 1, (size_t)argc * sizeof(*argv));
	return count + argc - 1;
}

/* ---- all of it ----------------------------------------------------------------- */

static int show(int key)
{
	char name[] = "geckobpf";

	if (key == KEY_HELP)
		argp_help(&argp, stdout,
			  ARGP_HELP_STD_HELP & ~(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR), name);
	else
		puts("geckobpf " GECKOBPF_VERSION);
	return EXIT_SUCCESS;
}

static void set_defaults(struct record_options *options)
{
	*options = (struct record_options){
		.config = {.rate_hz = DEFAULT_RATE_HZ,
			   .children = true,
			   .kernel_stacks = true,
			   .buffer_bytes = DEFAULT_BUFFER_BYTES,
			   .unwind_bytes = DEFAULT_UNWIND_BYTES},
		.progress = &progress_bar,
		.control_in = -1,
		.control_out = -1,
	};
}

int record_options_parse(struct record_options *out, int argc, char **argv, int *status)
{
	int count;

	set_defaults(out);
	count = add_environment(out, argc, argv);
	if (count < 0) {
		log_error("out of memory");
		*status = EXIT_FAILURE;
		return -1;
	}
	if (parse_arguments(count, out->argv, out)) {
		*status = EXIT_USAGE;
		return -1;
	}
	if (out->show) {
		*status = show(out->show);
		return -1;
	}
	out->config.pids = out->pids.items;
	out->config.pid_count = out->pids.count;
	out->config.symbol_dirs = out->symbol_dirs.items;
	out->config.symbol_dir_count = out->symbol_dirs.count;
	return 0;
}

void record_options_clear(struct record_options *options)
{
	free(options->pids.items);
	free(options->symbol_dirs.items);
	free(options->words);
	free(options->argv);
}
