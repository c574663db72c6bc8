/* SPDX-License-Identifier: BSD-2-Clause */
/* state_request.c - see state_request.h. */
#include "service/state_request.h"

#include "service/sandbox.h"

int state_begin(struct reader *reader)
{
	struct reader_message request;

	reader_message_begin(&request, SERVICE_STATE);
	return reader_begin(reader, &request);
}

uint32_t state_take(struct reader_message *answer)
{
	reader_message_close(answer);
	return (uint32_t)answer->status & SANDBOX_ALL;
}

int32_t state_answer(const struct reader_message *request, struct reader_message *answer)
{
	return (int32_t)sandbox_lacks();
}
