/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_writer.h - where messages go: to stderr, by a thread, so that nobody who does not read them stops who says them:
 * a terminal after Ctrl-S, a connection that hangs, a pipe that is full.
 *
 * A thread, since there is no other way that is right for all: O_NONBLOCK would be of the open file, which the shell and
 * the command have, too; a terminal cannot always be opened anew, and what poll(2) says of it holds for some bytes only.
 *
 * Where stderr takes what it gets, a message is out when log_writer_put() returns. Otherwise messages are kept, as many as
 * there is room for; the rest are dropped, and counted, which is said as soon as something can be said again.
 */
#ifndef GECKOBPF_BASE_LOG_WRITER_H
#define GECKOBPF_BASE_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>

/* Starts the thread. Without it, after an error or in a child, messages are written by whoever says them. 0 or -errno. */
int log_writer_open(void);
/* Waits a second at most until all is out, and ends the thread; what is not out then never will be. */
void log_writer_close(void);

/* A message, whole or not at all. */
void log_writer_put(const char *text, size_t size);

/* Whether messages wait to be written. */
bool log_writer_is_late(void);

#endif
