/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_request.h - whether a file is as good as another (elf/elf_parts.h), found out by a parser. */
#ifndef GECKOBPF_SERVICE_DIGEST_REQUEST_H
#define GECKOBPF_SERVICE_DIGEST_REQUEST_H

#include "elf/elf_parts.h"
#include "reader/reader.h"
#include "service/kinds.h"

/* As elf_digest_read(), or as reader_call(). */
int digest_ask(struct reader *parser, const struct reader_wait *wait, int fd,
	       const struct elf_digest_key *key, struct elf_digest *out);

service_answer digest_answer;

#endif
