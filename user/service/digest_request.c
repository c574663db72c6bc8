/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_request.c - see digest_request.h. The request is a descriptor and the key, the answer the digest. */
#include "service/digest_request.h"

#include <errno.h>
#include <string.h>

int digest_ask(struct reader *parser, const struct reader_wait *wait, int fd,
	       const struct elf_digest_key *key, struct elf_digest *out)
{
	struct reader_message request, answer;
	int err;

	reader_message_begin(&request, SERVICE_DIGEST);
	request.fds[request.fd_count++] = fd;
	(void)reader_message_add(&request, key, sizeof(*key));
	err = reader_call(parser, &request, wait, &answer);
	if (err)
		return err;
	reader_message_close(&answer);
	if (answer.status)
		return answer.status < 0 ? answer.status : -EBADMSG;
	if (answer.bytes != sizeof(*out))
		return -EBADMSG;
	memcpy(out, answer.data, sizeof(*out));
	return 0;
}

/* ---- in the reader ------------------------------------------------------------------- */

int32_t digest_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct elf_digest_key key;
	struct elf_digest digest;
	int err;

	if (!request->fd_count || request->bytes != sizeof(key))
		return -EBADMSG;
	memcpy(&key, request->data, sizeof(key));
	err = elf_digest_read(request->fds[0], &key, &digest);
	if (!err && !reader_message_add(answer, &digest, sizeof(digest)))
		err = -EBADMSG;
	return err;
}
