/* SPDX-License-Identifier: BSD-2-Clause */
/* copy_request.c - see copy_request.h. The request is a descriptor and the limit, the answer a descriptor. */
#include "service/copy_request.h"

#include "base/fd.h"
#include "reader/sealed.h"
#include "service/sandbox.h"

#include <errno.h>
#include <string.h>

_Static_assert(ELF_COPY_MAX_END <= SANDBOX_FILE_BYTES,
	       "a parser is killed that writes behind that");

int copy_ask(struct reader *parser, const struct reader_wait *wait, int fd,
	     const struct elf_copy_limit *limit)
{
	struct reader_message request, answer;
	int err, copy;

	reader_message_begin(&request, SERVICE_COPY);
	request.fds[request.fd_count++] = fd;
	(void)reader_message_add(&request, limit, sizeof(*limit));
	err = reader_call(parser, &request, wait, &answer);
	if (err)
		return err;
	copy = reader_message_take_fd(&answer);
	err = answer.status < 0 ? answer.status : answer.status > 0 ? -EBADMSG : 0;
	/* With a page for each of its parts that begins or ends within one. */
	if (!err && (copy < 0 || !sealed_takes_most(copy, limit->bytes * 2 + (1 << 20))))
		err = -EBADMSG;
	if (err)
		fd_close(&copy);
	return err ? err : copy;
}

/* ---- in the reader ------------------------------------------------------------------- */

int32_t copy_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct elf_copy_limit limit;
	int copy;

	if (!request->fd_count || request->bytes != sizeof(limit))
		return -EBADMSG;
	memcpy(&limit, request->data, sizeof(limit));
	copy = elf_copy_make(request->fds[0], &limit);
	if (copy >= 0)
		answer->fds[answer->fd_count++] = copy;
	return copy < 0 ? copy : 0;
}
