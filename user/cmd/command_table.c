/* SPDX-License-Identifier: BSD-2-Clause */
/* command_table.c - see command_table.h. */
#include "cmd/command_table.h"

#include <stddef.h>

const struct command_row commands[] = {
	{"record", cmd_record}, {"report", cmd_report},   {"convert", cmd_convert},
	{"help", cmd_help},     {"version", cmd_version}, {NULL, NULL},
};
