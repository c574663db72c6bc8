/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_request.c - see proc_request.h.
 *
 *   request:  pid u32 | max_bytes u32 | name        answer: the text, or its length and a sealed file
 */
#include "service/proc_request.h"

#include "base/fd.h"
#include "elf/elf_open.h"
#include "reader/sealed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct head {
	uint32_t pid, max_bytes;
};

static int copy_text(const void *data, size_t bytes, char **text, size_t *length)
{
	*text = malloc(bytes + 1);
	if (!*text)
		return -ENOMEM;
	memcpy(*text, data, bytes);
	(*text)[bytes] = '\0';
	*length = bytes;
	return 0;
}

static int copy_sealed(struct reader_message *answer, size_t max_bytes, char **text, size_t *length)
{
	const void *data;
	uint32_t wanted;
	size_t bytes;
	int err;

	if (answer->bytes != sizeof(wanted))
		return -EBADMSG;
	memcpy(&wanted, answer->data, sizeof(wanted));
	err = sealed_map(answer->fds[0], sealed_room(max_bytes), &data, &bytes);
	if (err)
		return err;
	err = wanted > bytes || wanted > max_bytes ? -EBADMSG
						   : copy_text(data, wanted, text, length);
	sealed_unmap(data, bytes);
	return err;
}

static int take_text(struct reader_message *answer, size_t max_bytes, char **text, size_t *length)
{
	if (answer->status)
		return answer->status < 0 ? answer->status : -EBADMSG;
	if (answer->fd_count)
		return copy_sealed(answer, max_bytes, text, length);
	if (answer->bytes > max_bytes)
		return -EBADMSG;
	return copy_text(answer->data, answer->bytes, text, length);
}

int proc_ask(struct reader *opener, const struct reader_wait *wait, pid_t pid, const char *name,
	     size_t max_bytes, char **text, size_t *length)
{
	const struct head head = {(uint32_t)pid, (uint32_t)max_bytes};
	struct reader_message request, answer;
	int err;

	reader_message_begin(&request, SERVICE_PROC);
	if (!reader_message_add(&request, &head, sizeof(head)) ||
	    !reader_message_add_text(&request, name))
		return -ENAMETOOLONG;
	err = reader_call(opener, &request, wait, &answer);
	if (err)
		return err;
	err = take_text(&answer, max_bytes, text, length);
	reader_message_close(&answer);
	return err;
}

/* ---- in the reader ------------------------------------------------------------------- */

static int32_t put_text(const char *text, size_t length, struct reader_message *answer)
{
	const struct sealed_part part = {text, length};
	const uint32_t said = (uint32_t)length;
	int fd;

	if (reader_message_add(answer, text, length))
		return 0;
	fd = sealed_make(&part, 1);
	if (fd < 0)
		return fd;
	answer->fds[answer->fd_count++] = fd;
	return reader_message_add(answer, &said, sizeof(said)) ? 0 : -EBADMSG;
}

int32_t proc_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct head head;
	size_t at = sizeof(head), length;
	const char *name = reader_message_text(request, &at);
	char *text;
	int32_t status;

	if (!name || strchr(name, '/'))
		return -EBADMSG;
	memcpy(&head, request->data, sizeof(head));
	status = elf_read_proc((pid_t)head.pid, name, head.max_bytes, &text, &length);
	if (status)
		return status;
	status = put_text(text, length, answer);
	free(text);
	return status;
}
