/* SPDX-License-Identifier: BSD-2-Clause */
/* state_request.h - whether a reader process has given up all that it does not need. */
#ifndef GECKOBPF_SERVICE_STATE_REQUEST_H
#define GECKOBPF_SERVICE_STATE_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"

/* What it could not give up: enum sandbox_lack, or'ed; or as reader_call(). */
int state_ask(struct reader *reader, const struct reader_wait *wait);

service_answer state_answer;

#endif
