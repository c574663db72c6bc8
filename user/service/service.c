/* SPDX-License-Identifier: BSD-2-Clause */
/* service.c - see service.h. */
#include "service/service.h"

#include "reader/channel.h"
#include "reader/start.h"
#include "service/build_id_request.h"
#include "service/copy_request.h"
#include "service/digest_request.h"
#include "service/kinds.h"
#include "service/name_request.h"
#include "service/open_request.h"
#include "service/proc_request.h"
#include "service/sandbox.h"
#include "service/state_request.h"
#include "service/table_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BIT(role) (1u << (role))

static const struct {
	uint32_t kind;
	uint32_t roles; /* who serves it */
	service_answer *answer;
} rows[] = {
	{SERVICE_STATE, BIT(READER_OPENER) | BIT(READER_PARSER), state_answer},
	{SERVICE_OPEN, BIT(READER_OPENER), open_answer},
	{SERVICE_TABLE, BIT(READER_PARSER), table_answer},
	{SERVICE_BUILD_ID, BIT(READER_PARSER), build_id_answer},
	{SERVICE_PROC, BIT(READER_OPENER), proc_answer},
	{SERVICE_OPEN_ELF, BIT(READER_OPENER), open_elf_answer},
	{SERVICE_NAMES, BIT(READER_PARSER), names_answer},
	{SERVICE_DIGEST, BIT(READER_PARSER), digest_answer},
	{SERVICE_COPY, BIT(READER_PARSER), copy_answer},
};

static struct {
	enum reader_role role;
	uint32_t number; /* of the request that is served */
	bool is_last;
	/* The client gave up what is served, and wants this, whose request is there already. */
	struct channel_mark next;
	bool has_next;
	struct reader_message request, answer, request_next;
} service;

static int receive(struct channel_mark *mark, struct reader_message *message)
{
	int err;

	do
		err = channel_receive(READER_SOCKET, 0, mark, message);
	while (err == -EINTR);
	return err;
}

int service_ask(const struct reader_message *ask, struct reader_message *answer)
{
	struct channel_mark mark = {CHANNEL_ASK, service.number};
	int err = channel_send(READER_SOCKET, &mark, ask);

	if (err || service.has_next)
		return -EPIPE;
	err = receive(&mark, answer);
	if (err || mark.what == CHANNEL_ANSWER)
		return err;
	service.next = mark;
	service.request_next = *answer;
	service.has_next = true;
	answer->fd_count = 0;
	return -ECANCELED;
}

void service_end(void)
{
	service.is_last = true;
}

static service_answer *find(uint32_t kind)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == kind && rows[i].roles & BIT(service.role))
			return rows[i].answer;
	return NULL;
}

static void serve(void)
{
	service_answer *answer = find(service.request.kind);

	reader_message_begin(&service.answer, service.request.kind);
	service.answer.status = answer ? answer(&service.request, &service.answer) : -EOPNOTSUPP;
}

static int receive_next(struct channel_mark *mark)
{
	if (!service.has_next)
		return receive(mark, &service.request);
	service.has_next = false;
	*mark = service.next;
	service.request = service.request_next;
	return 0;
}

/* Until the client has gone, or is not what it should be. */
static int serve_all(void)
{
	struct channel_mark mark;

	while (!receive_next(&mark)) {
		if (mark.what != CHANNEL_REQUEST)
			return EXIT_FAILURE;
		service.number = mark.number;
		serve();
		mark = (struct channel_mark){CHANNEL_ANSWER, service.number};
		if (service.is_last)
			(void)shutdown(READER_SOCKET, SHUT_RD);
		if (channel_send(READER_SOCKET, &mark, &service.answer))
			return EXIT_FAILURE;
		if (service.is_last)
			return EXIT_SUCCESS;
		reader_message_close(&service.answer);
		/* That may take for ever, and is nobody's loss then. */
		reader_message_close(&service.request);
	}
	return EXIT_SUCCESS;
}

static void run(enum reader_role role)
{
	service.role = role;
	sandbox_enter(role);
	if (role == READER_PARSER)
		open_through_client();
	else
		open_with_leave();
	if (channel_send(READER_SOCKET, &(struct channel_mark){CHANNEL_READY, 0}, &service.answer))
		_exit(EXIT_FAILURE);
	_exit(serve_all());
}

void service_main(int argc, char **argv)
{
	const size_t length = sizeof(READER_OPTION) - 1;

	if (argc != 2 || strncmp(argv[1], READER_OPTION, length))
		reader_enable();
	else if (!strcmp(argv[1] + length, reader_role_name(READER_OPENER)))
		run(READER_OPENER);
	else
		run(READER_PARSER);
}
