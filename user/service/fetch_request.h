/* SPDX-License-Identifier: BSD-2-Clause */
/* fetch_request.h - a file by its build id, from servers: a parser asks its client for it. */
#ifndef GECKOBPF_SERVICE_FETCH_REQUEST_H
#define GECKOBPF_SERVICE_FETCH_REQUEST_H

#include "elf/file_search.h"
#include "reader/message.h"

/* In the client: `ask` is hostile. */
void fetch_for_parser(const struct file_search *search, const struct reader_message *ask,
		      struct reader_message *answer);

/* In a parser: as file_search.fetch, by way of the client. */
int fetch_through_client(void *context, const uint8_t *build_id, size_t build_id_bytes,
			 bool wants_debug);

#endif
