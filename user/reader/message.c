/* SPDX-License-Identifier: BSD-2-Clause */
/* message.c - see message.h. */
#include "reader/message.h"

#include "base/fd.h"

#include <string.h>

void reader_message_begin(struct reader_message *message, uint32_t kind)
{
	message->kind = kind;
	message->status = 0;
	message->bytes = 0;
	message->fd_count = 0;
}

bool reader_message_add(struct reader_message *message, const void *data, size_t bytes)
{
	if (bytes > sizeof(message->data) - message->bytes)
		return false;
	memcpy(message->data + message->bytes, data, bytes);
	message->bytes += (uint32_t)bytes;
	return true;
}

bool reader_message_add_text(struct reader_message *message, const char *text)
{
	return reader_message_add(message, text, strlen(text) + 1);
}

const char *reader_message_text(const struct reader_message *message, size_t *at)
{
	const char *text = (const char *)message->data + *at;
	const char *end;

	if (*at >= message->bytes)
		return NULL;
	end = memchr(text, '\0', message->bytes - *at);
	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

void reader_message_close(struct reader_message *message)
{
	while (message->fd_count)
		fd_close(&message->fds[--message->fd_count]);
}

int reader_message_take_fd(struct reader_message *message)
{
	int fd = message->fd_count ? message->fds[0] : -1;

	while (message->fd_count > 1)
		fd_close(&message->fds[--message->fd_count]);
	message->fd_count = 0;
	return fd;
}
