/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_channel.c - any bytes, with some descriptors, as what a reader process sends: none stays open, and texts end. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "reader/channel.h"

#define MAX_FDS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_raw(int fd, const uint8_t *data, size_t size, size_t fds)
{
	union {
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {(void *)data, size};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	size_t i;

	if (fds) {
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (i = 0; i < fds; i++)
			memcpy(CMSG_DATA(&control.align) + i * sizeof(int), &(int){fd},
			       sizeof(int));
	}
	if (sendmsg(fd, &packet, MSG_DONTWAIT) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct reader_message message;
	struct channel_mark mark;
	size_t at = 0;
	int pair[2];

	if (!size || size > 64 * 1024)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		abort();
	send_raw(pair[0], data + 1, size - 1, data[0] % (MAX_FDS + 1));
	if (channel_receive(pair[1], MSG_DONTWAIT, &mark, &message)) {
		if (message.fd_count)
			abort();
	} else {
		while (reader_message_text(&message, &at))
			;
		reader_message_close(&message);
	}
	close(pair[0]);
	close(pair[1]);
	/* Those that were kept would be before it. */
	pair[0] = dup(STDIN_FILENO);
	if (pair[0] > 100)
		abort();
	close(pair[0]);
	return 0;
}
