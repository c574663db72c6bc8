/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_request.h - a text of /proc/PID, read by an opener: that may take as long as the process likes. */
#ifndef GECKOBPF_SERVICE_PROC_REQUEST_H
#define GECKOBPF_SERVICE_PROC_REQUEST_H

#include <sys/types.h>

#include "reader/reader.h"
#include "service/kinds.h"

/* As elf_read_proc(), or as reader_call(). */
int proc_ask(struct reader *opener, const struct reader_wait *wait, pid_t pid, const char *name,
	     size_t max_bytes, char **text, size_t *length);

service_answer proc_answer;

#endif
