/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_asking.h - names of all code are asked for together, before samples are read one by one: to ask takes longer than to
 * answer. Nothing depends on it but that.
 */
#ifndef GECKOBPF_PROFILE_NAME_ASKING_H
#define GECKOBPF_PROFILE_NAME_ASKING_H

#include <stddef.h>

struct cancel;
struct name_asking;
struct object_files;
struct process;

/* `files`, `cancel`: borrowed. `max_frames`: as struct profile_input has it. 0 or -ENOMEM. */
int name_asking_open(struct name_asking **out, struct object_files *files, size_t max_frames,
		     struct cancel *cancel);
/* NULL is fine. */
void name_asking_close(struct name_asking *asking);

/* Takes the code of a process in. 0, -ENOMEM, -EINTR. */
int name_asking_add(struct name_asking *asking, struct process *process);
/* Asks for all that was taken in. The same. */
int name_asking_finish(struct name_asking *asking);

#endif
