/* SPDX-License-Identifier: BSD-2-Clause */
/* table_request.h - the unwind table of a file, compiled by a parser. */
#ifndef GECKOBPF_SERVICE_TABLE_REQUEST_H
#define GECKOBPF_SERVICE_TABLE_REQUEST_H

#include "reader/reader.h"
#include "service/kinds.h"
#include "unwind/table.h"

/* One that came from a parser. */
struct made_table {
	struct unwind_table table; /* to read, and not to be closed */
	const void *image;
	size_t image_bytes;
};

/* `fd`: of the file; -1: the vDSO. As reader_begin(). */
int table_begin(struct reader *parser, int fd);

/*
 * What it answered, as reader_poll() has it, which was 0. 0: *out is the caller's to close; as unwind_table_compile();
 * -E2BIG: the table, or what it takes to compile it, is too large; -EBADMSG: nonsense, and the parser was killed.
 */
int table_take(struct reader *parser, struct reader_message *answer, struct made_table *out);
void table_close(struct made_table *table);

service_answer table_answer;

#endif
