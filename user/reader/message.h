/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * message.h - what goes between a client and its reader process: a request, its answer, or what the reader asks back
 * meanwhile.
 *
 *   client ──request──> reader        one at a time
 *          <──ask────                 "open this", as often as the reader needs something
 *          ──answer──>
 *          <──answer──                content that is longer is in a sealed file (sealed.h), whose descriptor comes along
 */
#ifndef GECKOBPF_READER_MESSAGE_H
#define GECKOBPF_READER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define READER_MESSAGE_BYTES 16384
#define READER_MAX_FDS 4

struct reader_message {
	uint32_t kind; /* of a request or ask: enum service_kind */
	int32_t status; /* of an answer: 0 or more is its kind's own; -errno */
	uint32_t bytes; /* at `data` */
	uint32_t fd_count;
	int fds[READER_MAX_FDS]; /* sent: borrowed; received: the receiver's */
	unsigned char data[READER_MESSAGE_BYTES];
};

/* `message` is of that kind, and empty. */
void reader_message_begin(struct reader_message *message, uint32_t kind);
/* Adds bytes, or a text with its NUL. False: there is no room. */
bool reader_message_add(struct reader_message *message, const void *data, size_t bytes);
bool reader_message_add_text(struct reader_message *message, const char *text);

/* The text that begins at *at, which then is behind it. NULL: there is none with a NUL. */
const char *reader_message_text(const struct reader_message *message, size_t *at);

/* Closes what was received with it. */
void reader_message_close(struct reader_message *message);
/* Takes the first descriptor out and closes the others. -1: there is none. */
int reader_message_take_fd(struct reader_message *message);

#endif
