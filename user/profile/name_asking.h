/* SPDX-License-Identifier: BSD-2-Clause */
/* name_asking.h - names of all code of a process are asked for together, before its samples are read one by one. */
#ifndef GECKOBPF_PROFILE_NAME_ASKING_H
#define GECKOBPF_PROFILE_NAME_ASKING_H

#include <stddef.h>

struct cancel;
struct object_files;
struct process;

/* `max_frames`: as struct profile_input has it. What is not asked for is when it is met: nothing depends on this but the time that it takes. 0, -ENOMEM, -EINTR. */
int name_asking_run(struct object_files *files, struct process *process, size_t max_frames,
		    struct cancel *cancel);

#endif
