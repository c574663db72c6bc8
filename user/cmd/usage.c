/* SPDX-License-Identifier: BSD-2-Clause */
/* usage.c - see usage.h. argp says only that a word is wrong; why is found in its table of options. */
#include "cmd/usage.h"

#include "base/log.h"
#include "base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 4 /* options that an abbreviation may mean */

error_t usage_reject(struct usage *usage, const char *format, ...)
{
	va_list args;

	if (usage->text[0])
		return EINVAL;
	va_start(args, format);
	vsnprintf(usage->text, sizeof(usage->text), format, args);
	va_end(args);
	return EINVAL;
}

error_t usage_option(struct usage *usage, int key, struct argp_state *state)
{
	switch (key) {
	case '?':
	case USAGE_KEY_HELP:
	case USAGE_KEY_VERSION:
		usage->show = key == '?' ? USAGE_KEY_HELP : key;
		state->next = state->argc;
		return 0;
	case 'g':
		return usage_reject(usage, "-g: stacks are always recorded; leave it out");
	case ARGP_KEY_ERROR:
		usage->error_at = state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the table of options --------------------------------------------------------- */

/* The first option of which `fits` says so, by its first name. NULL: there is none. */
static const struct argp_option *find(const struct argp *argp,
				      bool (*fits)(const struct argp_option *option, void *context),
				      void *context)
{
	const struct argp_option *option, *named = argp->options;
	const struct argp_child *child;

	for (option = argp->options; option && (option->name || option->key || option->doc);
	     option++) {
		/* An alias has what the one before it has. */
		if (!(option->flags & OPTION_ALIAS))
			named = option;
		if (fits(option, context))
			return named;
	}
	for (child = argp->children; child && child->argp; child++) {
		option = find(child->argp, fits, context);
		if (option)
			return option;
	}
	return NULL;
}

static bool is_letter(const struct argp_option *option, void *context)
{
	return option->key == *(const char *)context;
}

/* Names that a word may mean. */
struct matches {
	const char *word;
	size_t length; /* of the word, without its value */
	size_t count;
	char list[128];
	struct nearest nearest;
};

static bool is_exact(const struct argp_option *option, void *context)
{
	const struct matches *matches = context;

	return option->name && strlen(option->name) == matches->length &&
	       !strncmp(option->name, matches->word, matches->length);
}

static bool begins(const struct argp_option *option, void *context)
{
	const struct matches *matches = context;

	return option->name && !strncmp(option->name, matches->word, matches->length);
}

/* Looks at all of them. */
static bool collect(const struct argp_option *option, void *context)
{
	struct matches *matches = context;
	size_t used = strlen(matches->list);

	if (!option->name || (option->flags & OPTION_HIDDEN))
		return false;
	nearest_offer(&matches->nearest, option->name);
	if (strncmp(option->name, matches->word, matches->length) != 0)
		return false;
	if (matches->count++ < SHOWN)
		snprintf(matches->list + used, sizeof(matches->list) - used, "%s--%s",
			 used ? ", " : "", option->name);
	return false;
}

/* ---- what is wrong with a word ----------------------------------------------------- */

static bool reject_unknown(struct usage *usage, const char *word, const struct matches *matches)
{
	if (matches->nearest.best[0])
		(void)usage_reject(usage, "%s: not an option; did you mean --%s? (see %s --help)",
				   word, matches->nearest.best, usage->command);
	else
		(void)usage_reject(usage, "%s: not an option; see %s --help", word, usage->command);
	return true;
}

static bool wants_value(const struct argp_option *option)
{
	return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* "--name" or "--name=value" */
static bool reject_long(const struct argp *argp, struct usage *usage, const char *word)
{
	struct matches matches = {.word = word + 2, .length = strcspn(word + 2, "=")};
	const struct argp_option *option;

	snprintf(matches.nearest.word, sizeof(matches.nearest.word), "%.*s", (int)matches.length,
		 matches.word);
	(void)find(argp, collect, &matches);
	option = find(argp, is_exact, &matches);
	if (!option && matches.count == 1)
		option = find(argp, begins, &matches);
	if (!option && matches.count > 1) {
		(void)usage_reject(usage, "%s: %s%s? (see %s --help)", word, matches.list,
				   matches.count > SHOWN ? ", ..." : "", usage->command);
		return true;
	}
	if (!option)
		return reject_unknown(usage, word, &matches);
	if (wants_value(option) && !word[2 + matches.length])
		(void)usage_reject(usage, "%s: its value is missing; give --%s=%s", word,
				   option->name, option->arg);
	else if (!option->arg && word[2 + matches.length])
		(void)usage_reject(usage, "%s: it has no value; give --%s", word, option->name);
	return usage->text[0];
}

/* "-abc": options without a value, and perhaps one with a value at the end. */
static bool reject_letters(const struct argp *argp, struct usage *usage, const char *word)
{
	const struct matches none = {0};
	char letter[] = "-x";

	for (word++; *word; word++) {
		char key = *word;
		const struct argp_option *option = find(argp, is_letter, &key);

		letter[1] = key;
		if (!option)
			return reject_unknown(usage, letter, &none);
		if (!option->arg)
			continue;
		if (!word[1])
			(void)usage_reject(usage, "%s: its value is missing; give --%s=%s", letter,
					   option->name, option->arg);
		return usage->text[0];
	}
	return false;
}

/* False: nothing is. */
static bool reject_word(const struct argp *argp, struct usage *usage, const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return word[1] == '-' ? reject_long(argp, usage, word) : reject_letters(argp, usage, word);
}

/* getopt(3) may have stopped behind the word, or within it. */
static void explain(const struct argp *argp, struct usage *usage, int argc, char **argv)
{
	const int at = usage->error_at;

	if (usage->text[0])
		return;
	if (at > 0 && at <= argc && reject_word(argp, usage, argv[at - 1]))
		return;
	if (at > 0 && at < argc && reject_word(argp, usage, argv[at])) {
		usage->error_at++;
		return;
	}
	(void)usage_reject(usage, "out of memory");
}

/* ---- all of it ---------------------------------------------------------------------- */

static void show(const struct argp *argp, const struct usage *usage)
{
	if (usage->show == USAGE_KEY_VERSION)
		puts("geckobpf " GECKOBPF_VERSION);
	else
		argp_help(argp, stdout,
			  ARGP_HELP_STD_HELP & ~(ARGP_HELP_EXIT_OK | ARGP_HELP_EXIT_ERR),
			  (char *)usage->command);
}

int usage_parse(const struct argp *argp, int argc, char **argv, unsigned int flags,
		struct usage *usage, void *input, int *status)
{
	/* Without argp's own errors and help, so that each error is one line of ours. */
	error_t err =
		argp_parse(argp, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);

	if (err) {
		explain(argp, usage, argc, argv);
		log_error("%s%s",
			  usage->error_at && usage->error_at <= usage->environment_end
				  ? "GECKOBPF_OPTIONS: "
				  : "",
			  usage->text);
		*status = EXIT_USAGE;
		return -1;
	}
	if (!usage->show)
		return 0;
	show(argp, usage);
	*status = EXIT_SUCCESS;
	return -1;
}

int usage_report(const struct usage *usage)
{
	log_error("%s", usage->text);
	return EXIT_USAGE;
}
