/* SPDX-License-Identifier: BSD-2-Clause */
/* command_table.h - the commands: one file each in user/cmd, one row in main.c. */
#ifndef GECKOBPF_CMD_COMMAND_TABLE_H
#define GECKOBPF_CMD_COMMAND_TABLE_H

/* Takes its own argv (argv[0] is the program or the command), returns the exit status. */
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_convert(int argc, char **argv);

#endif
