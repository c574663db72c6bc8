/* SPDX-License-Identifier: BSD-2-Clause */
/* command_table.h - the commands: one file each in user/cmd, one row in command_table.c. */
#ifndef GECKOBPF_CMD_COMMAND_TABLE_H
#define GECKOBPF_CMD_COMMAND_TABLE_H

struct command_row {
	const char *name;
	/* Takes its own argv (argv[0] is the program or the command), returns the exit status. */
	int (*run)(int argc, char **argv);
};

/* The first is the default; ends with one without a name. */
extern const struct command_row commands[];

int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
