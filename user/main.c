/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - picks the command, runs it, returns its exit status. */
#include "base/fd.h"
#include "base/temporary.h"
#include "cmd/command_table.h"
#include "service/service.h"

#include <string.h>

int main(int argc, char **argv)
{
	const struct command_row *command;

	fd_open_standard();
	service_main(argc, argv);
	temporary_guard();
	for (command = commands; argc > 1 && command->name; command++)
		if (!strcmp(argv[1], command->name))
			return command->run(argc - 1, argv + 1);
	return commands[0].run(argc, argv);
}
