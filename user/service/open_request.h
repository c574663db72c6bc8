/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_request.h - a regular file by its path, as elf_open.h has it: opened by an opener. Of a file system that may hang in
 * close(2) it answers a copy, which a parser of its own has made: nobody else ever has the file itself open.
 */
#ifndef GECKOBPF_SERVICE_OPEN_REQUEST_H
#define GECKOBPF_SERVICE_OPEN_REQUEST_H

#include "elf/elf_open.h"
#include "reader/reader.h"
#include "service/kinds.h"

struct elf_place;

/*
 * A descriptor, the caller's, and which file it is; as elf_open_place(), or as reader_call(). Before the file is opened the
 * client is asked whether it may be: struct reader_config, with open_read_leave().
 */
int open_ask(struct reader *opener, const struct reader_wait *wait, const char *root,
	     const char *path, const struct elf_place *place, struct file_status *status);
/* What the client is asked: about which file. False: it is not that question. */
bool open_read_leave(const struct reader_message *ask, struct file_status *status);

/* A parser asks its client for a file, `ask`, which is hostile: an opener opens it, if it is an ELF file. */
void open_pass_on(struct reader *opener, const struct reader_wait *wait,
		  const struct reader_message *ask, struct reader_message *answer);

/* In a parser: the door of elf_open.h asks the client, who may refuse (struct reader_config). */
void open_through_client(void);
/* In an opener: the client is asked for leave. */
void open_with_leave(void);

service_answer open_answer;
/* The same, -ENOEXEC if it does not begin as ELF files do. */
service_answer open_elf_answer;

#endif
