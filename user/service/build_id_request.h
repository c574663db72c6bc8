/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id_request.h - the build id of a file, read by a parser. */
#ifndef GECKOBPF_SERVICE_BUILD_ID_REQUEST_H
#define GECKOBPF_SERVICE_BUILD_ID_REQUEST_H

#include "elf/build_id.h"
#include "reader/reader.h"
#include "service/kinds.h"

/* As build_id_read(), or as reader_call(). */
int build_id_ask(struct reader *parser, const struct reader_wait *wait, int fd,
		 struct build_id *out);

service_answer build_id_answer;

#endif
