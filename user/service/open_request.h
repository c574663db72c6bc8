/* SPDX-License-Identifier: BSD-2-Clause */
/* open_request.h - a regular file by its path, as elf_open.h has it: opened by an opener. */
#ifndef GECKOBPF_SERVICE_OPEN_REQUEST_H
#define GECKOBPF_SERVICE_OPEN_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"

struct elf_place;

/* A descriptor, the caller's; as elf_open_place(), or as reader_call(). */
int open_ask(struct reader *opener, const struct reader_wait *wait, const char *root,
	     const char *path, const struct elf_place *place);

/* A parser asks its client for a file, `ask`, which is hostile: an opener opens it, if it is an ELF file. */
void open_pass_on(struct reader *opener, const struct reader_wait *wait,
		  const struct reader_message *ask, struct reader_message *answer);

/* In a parser: the door of elf_open.h asks the client, who may refuse (struct reader_config). */
void open_through_client(void);

service_answer open_answer;
/* The same, -ENOEXEC if it does not begin as ELF files do. */
service_answer open_elf_answer;

#endif
