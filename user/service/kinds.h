/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kinds.h - what a reader process can be asked for. Each kind has a file of its own, NAME_request.c, with both ends of it:
 * NAME_ask() fills in the request and checks the answer as hostile, NAME_answer() does it; and a row in service.c.
 */
#ifndef GECKOBPF_SERVICE_KINDS_H
#define GECKOBPF_SERVICE_KINDS_H

#include "reader/message.h"

enum service_kind {
	SERVICE_STATE = 1, /* state_request.h */
	SERVICE_OPEN = 2, /* open_request.h */
	SERVICE_TABLE = 3, /* table_request.h */
	SERVICE_BUILD_ID = 4, /* build_id_request.h */
	SERVICE_PROC = 5, /* proc_request.h */
	SERVICE_NAMES = 6, /* name_request.h */
	SERVICE_FETCH = 7, /* fetch_request.h; only asked back */
	SERVICE_OPEN_ELF = 8, /* open_request.h; also asked back */
	SERVICE_DIGEST = 16, /* digest_request.h */
	SERVICE_COPY = 17, /* copy_request.h */
	SERVICE_MAY_OPEN = 18, /* asked back: open_request.h */
};

/* Does what `request` wants; its descriptors are closed by the caller, those of `answer` when it is sent. Returns the answer's status. */
typedef int32_t service_answer(const struct reader_message *request, struct reader_message *answer);

#endif
