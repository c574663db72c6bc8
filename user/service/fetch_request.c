/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetch_request.c - see fetch_request.h.
 *
 *   ask:  whether it is the debug file, a byte | build id        answer: the descriptor
 */
#include "service/fetch_request.h"

#include "base/fd.h"
#include "service/kinds.h"
#include "service/service.h"

#include <errno.h>

void fetch_for_parser(const struct file_search *search, const struct reader_message *ask,
		      struct reader_message *answer)
{
	const size_t size = ask->bytes ? ask->bytes - 1 : 0;
	int fd = -ENOENT;

	if (search->fetch && size && size <= ELF_BUILD_ID_MAX_BYTES)
		fd = search->fetch(search->context, ask->data + 1, size, ask->data[0] != 0);
	answer->status = fd < 0 ? fd : 0;
	if (fd >= 0)
		answer->fds[answer->fd_count++] = fd;
}

/* ---- in the reader ------------------------------------------------------------------- */

int fetch_through_client(void *context, const uint8_t *build_id, size_t build_id_bytes,
			 bool wants_debug)
{
	static struct reader_message ask, answer;
	const uint8_t part = wants_debug;
	int fd, err;

	(void)context;
	reader_message_begin(&ask, SERVICE_FETCH);
	if (!reader_message_add(&ask, &part, sizeof(part)) ||
	    !reader_message_add(&ask, build_id, build_id_bytes))
		return -ENAMETOOLONG;
	err = service_ask(&ask, &answer);
	if (err)
		return err;
	fd = reader_message_take_fd(&answer);
	if (answer.status < 0)
		fd_close(&fd);
	if (fd < 0)
		return answer.status < 0 ? answer.status : -EBADMSG;
	return fd;
}
