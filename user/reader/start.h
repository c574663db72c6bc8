/* SPDX-License-Identifier: BSD-2-Clause */
/* start.h - starts a reader process, at whose other end of a socket its client is. */
#ifndef GECKOBPF_READER_START_H
#define GECKOBPF_READER_START_H

#include <sys/types.h>

#include "reader/reader.h"

#define READER_SOCKET 3 /* the descriptor that a reader has it as; 0 to 2 lead nowhere */
#define READER_OPTION "--reader="

/* 0: the child's pid, and our end of the socket; -errno. It has nothing of ours but the other end, and no process group's signals. */
int reader_start(enum reader_role role, pid_t *child, int *fd);

#endif
