/* SPDX-License-Identifier: BSD-2-Clause */
/* pid_option.h - the value of --pid: ids or names of processes, separated by commas or blanks. */
#ifndef GECKOBPF_CMD_PID_OPTION_H
#define GECKOBPF_CMD_PID_OPTION_H

#include <argp.h>

struct pid_list;
struct usage;

/* Adds them; says which, where a name has several. 0, EINVAL (usage_reject()), ENOMEM. */
error_t pid_option_parse(struct usage *usage, const char *value, struct pid_list *list);

#endif
