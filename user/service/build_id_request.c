/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id_request.c - see build_id_request.h. The request is a descriptor, the answer the bytes of the build id. */
#include "service/build_id_request.h"

#include <errno.h>
#include <string.h>

int build_id_ask(struct reader *parser, const struct reader_wait *wait, int fd,
		 struct build_id *out)
{
	struct reader_message request, answer;
	int err;

	reader_message_begin(&request, SERVICE_BUILD_ID);
	request.fds[request.fd_count++] = fd;
	err = reader_call(parser, &request, wait, &answer);
	if (err)
		return err;
	reader_message_close(&answer);
	if (answer.status)
		return answer.status < 0 ? answer.status : -EBADMSG;
	if (!answer.bytes || answer.bytes > BUILD_ID_MAX_BYTES)
		return -EBADMSG;
	*out = (struct build_id){.size = (uint8_t)answer.bytes};
	memcpy(out->bytes, answer.data, answer.bytes);
	return 0;
}

/* ---- in the reader ------------------------------------------------------------------- */

int32_t build_id_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct build_id id;
	int err = request->fd_count ? build_id_read(request->fds[0], &id) : -EBADMSG;

	if (!err && !reader_message_add(answer, id.bytes, id.size))
		err = -EBADMSG;
	return err;
}
