/* SPDX-License-Identifier: BSD-2-Clause */
/* process_name.h - what a process is called in a profile: its name, with the arguments that are wanted. */
#ifndef GECKOBPF_PROFILE_PROCESS_NAME_H
#define GECKOBPF_PROFILE_PROCESS_NAME_H

#include <stddef.h>

struct process;

/* *text: any bytes, `*length` of them and a NUL, the caller's to free. At most `argument_count` arguments. 0 or -ENOMEM. */
int process_name_make(const struct process *process, size_t argument_count, char **text,
		      size_t *length);

#endif
