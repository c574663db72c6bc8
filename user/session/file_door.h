/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_door.h - what we open and read of others (elf/elf_open.h), and names of their code (symbol/name_question.h), is the
 * work of readers, for whom a recorder waits as long as its patience lasts.
 */
#ifndef GECKOBPF_SESSION_FILE_DOOR_H
#define GECKOBPF_SESSION_FILE_DOOR_H

#include "reader/reader.h"

struct file_door;
struct patience;

/* From now on this process uses it; one at a time. `patience` is borrowed; NULL: there is time. Starts the readers. 0 or -ENOMEM. */
int file_door_open(struct file_door **out, struct patience *patience);
void file_door_close(struct file_door *door);

/* Nothing is lost any more by waiting: each request has some seconds, all that are late together nine. */
void file_door_take_time(struct file_door *door);

#endif
