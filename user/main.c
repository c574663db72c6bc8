/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - picks the command, runs it, returns its exit status. */
#include "base/temporary.h"
#include "cmd/command_table.h"

#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"record", cmd_record}, /* the first is the default */
	{"report", cmd_report},
	{"convert", cmd_convert},
};

int main(int argc, char **argv)
{
	size_t i;

	temporary_guard();
	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return commands[0].run(argc, argv);
}
