/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_request.h - what of a file anybody looks at (elf/elf_parts.h), copied into memory by a parser. */
#ifndef GECKOBPF_SERVICE_COPY_REQUEST_H
#define GECKOBPF_SERVICE_COPY_REQUEST_H

#include "elf/elf_parts.h"
#include "reader/reader.h"
#include "service/kinds.h"

/* As elf_copy_make(), or as reader_call(); -EBADMSG: what it answered is no such copy. */
int copy_ask(struct reader *parser, const struct reader_wait *wait, int fd,
	     const struct elf_copy_limit *limit);

service_answer copy_answer;

#endif
