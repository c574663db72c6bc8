/* SPDX-License-Identifier: BSD-2-Clause */
/* name_request.h - what code of a file is called, found out by a parser. */
#ifndef GECKOBPF_SERVICE_NAME_REQUEST_H
#define GECKOBPF_SERVICE_NAME_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"
#include "symbol/name_answer.h"
#include "symbol/name_question.h"

/*
 * As name_door.ask(), or as reader_call(). -E2BIG: the file takes more memory than a parser has; -EBADMSG: nonsense, and
 * the parser was killed. Meanwhile it asks back for other files: fetch_request.h, open_request.h.
 */
int names_ask(struct reader *parser, const struct reader_wait *wait,
	      const struct name_question *question, struct name_answer *out);

service_answer names_answer;

#endif
