/* SPDX-License-Identifier: BSD-2-Clause */
/* state_request.c - see state_request.h. */
#include "service/state_request.h"

#include "service/sandbox.h"

#include <errno.h>

int state_ask(struct reader *reader, const struct reader_wait *wait)
{
	struct reader_message request, answer;
	int err;

	reader_message_begin(&request, SERVICE_STATE);
	err = reader_call(reader, &request, wait, &answer);
	if (err)
		return err;
	reader_message_close(&answer);
	return answer.status & SANDBOX_ALL;
}

int32_t state_answer(const struct reader_message *request, struct reader_message *answer)
{
	return (int32_t)sandbox_lacks();
}
