/* SPDX-License-Identifier: BSD-2-Clause */
/* state_request.h - whether a reader process has given up all that it does not need. */
#ifndef GECKOBPF_SERVICE_STATE_REQUEST_H
#define GECKOBPF_SERVICE_STATE_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"

/* As reader_begin(). */
int state_begin(struct reader *reader);
/* What it could not give up, as it answered: enum sandbox_lack, or'ed. */
uint32_t state_take(struct reader_message *answer);

service_answer state_answer;

#endif
