/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - see channel.h.
 *
 *   a packet:  | magic | what | number | kind | status | bytes | fds | data ... |     descriptors beside it
 */
#include "reader/channel.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MAGIC 0x72626b67U /* "gkbr" */

struct head {
	uint32_t magic, what, number, kind;
	int32_t status;
	uint32_t bytes, fd_count;
};

union control {
	char room[CMSG_SPACE(READER_MAX_FDS * sizeof(int))];
	struct cmsghdr align;
};

int channel_send(int fd, const struct channel_mark *mark, const struct reader_message *message)
{
	struct head head = {MAGIC,           mark->what,     mark->number,     message->kind,
			    message->status, message->bytes, message->fd_count};
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)message->data, message->bytes}};
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 2};
	union control control = {0};
	ssize_t sent;

	if (message->fd_count) {
		const size_t bytes = message->fd_count * sizeof(int);

		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.align), message->fds, bytes);
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(bytes);
	}
	do
		sent = sendmsg(fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

/* Takes all descriptors of the packet over: as many as fit; more were closed by the kernel, which says MSG_CTRUNC. */
static void take_fds(struct msghdr *packet, struct reader_message *message)
{
	struct cmsghdr *item;

	message->fd_count = 0;
	for (item = CMSG_FIRSTHDR(packet); item; item = CMSG_NXTHDR(packet, item)) {
		size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;

		if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < count && message->fd_count < READER_MAX_FDS; i++)
			memcpy(&message->fds[message->fd_count++],
			       CMSG_DATA(item) + i * sizeof(int), sizeof(int));
	}
}

static bool is_ours(const struct head *head, size_t got, const struct msghdr *packet,
		    const struct reader_message *message)
{
	return !(packet->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && got >= sizeof(*head) &&
	       head->magic == MAGIC && head->bytes == got - sizeof(*head) &&
	       head->fd_count == message->fd_count;
}

int channel_receive(int fd, int flags, struct channel_mark *mark, struct reader_message *message)
{
	struct head head = {0};
	struct iovec parts[] = {{&head, sizeof(head)}, {message->data, sizeof(message->data)}};
	union control control;
	struct msghdr packet = {
		.msg_iov = parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(fd, &packet, flags | MSG_CMSG_CLOEXEC);

	message->fd_count = 0;
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	take_fds(&packet, message);
	/* The end of a socket has no descriptors; an empty packet may. */
	if (!got && !message->fd_count && !(packet.msg_flags & MSG_CTRUNC))
		return -EPIPE;
	if (!is_ours(&head, (size_t)got, &packet, message)) {
		reader_message_close(message);
		return -EBADMSG;
	}
	*mark = (struct channel_mark){head.what, head.number};
	message->kind = head.kind;
	message->status = head.status;
	message->bytes = head.bytes;
	return 0;
}
