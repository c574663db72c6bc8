/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_request.h - a regular file by its path, as elf_open.h has it: opened by an opener, for us or for a parser that asks
 * us to.
 */
#ifndef GECKOBPF_SERVICE_OPEN_REQUEST_H
#define GECKOBPF_SERVICE_OPEN_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"

/* A descriptor, the caller's; as elf_open_path(), or as reader_call(). */
int open_ask(struct reader *opener, const struct reader_wait *wait, const char *root,
	     const char *path);

/*
 * A parser, which may be in anybody's hands by now, wants to open something: through `opener`, and only if that is an ELF
 * file. For reader_config.answer.
 */
void open_relay(struct reader *opener, const struct reader_wait *wait,
		const struct reader_message *ask, struct reader_message *answer);

/* In a parser: the door of elf_open.h asks the client. */
void open_through_client(void);

service_answer open_answer;

#endif
