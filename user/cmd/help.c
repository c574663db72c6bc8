/* SPDX-License-Identifier: BSD-2-Clause */
/* help.c - `geckobpf help [COMMAND]` and `geckobpf version`, which are options by another name. */
#include "cmd/command_table.h"

#include "cmd/usage.h"
#include "cmd/words.h"

#include <string.h>

static int run_with(const struct command_row *command, const char *option)
{
	char *argv[] = {(char *)command->name, (char *)option, NULL};

	return command->run(2, argv);
}

int cmd_help(int argc, char **argv)
{
	struct usage usage = {.command = "geckobpf"};
	const struct command_row *command = commands;

	if (argc < 2 || argv[1][0] == '-')
		return run_with(command, "--help");
	for (; command->name; command++)
		if (!strcmp(argv[1], command->name) && command->run != cmd_help)
			return run_with(command, "--help");
	if (!strcmp(argv[1], argv[0]))
		return run_with(commands, "--help");
	(void)words_reject(&usage, argv[1]);
	return usage_report(&usage);
}

int cmd_version(int argc, char **argv)
{
	return run_with(commands, "--version");
}
