/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.h - sends and receives messages over a socket that keeps their bounds (SOCK_SEQPACKET). What comes from the
 * other end is hostile: its lengths are checked, and descriptors that do not belong are closed.
 */
#ifndef GECKOBPF_READER_CHANNEL_H
#define GECKOBPF_READER_CHANNEL_H

#include <stdint.h>

#include "reader/message.h"

/* CHANNEL_READY: what a reader says first, when it is ready for requests. */
enum channel_what { CHANNEL_REQUEST = 1, CHANNEL_ASK = 2, CHANNEL_ANSWER = 3, CHANNEL_READY = 4 };

/* What a message is besides its contents. */
struct channel_mark {
	uint32_t what; /* enum channel_what */
	uint32_t number; /* of the request; of its ask and of all answers, the same */
};

/* Never waits, and a signal does not come of it. 0; -EPIPE: nobody is there; -EAGAIN: the other end takes nothing; -errno. */
int channel_send(int fd, const struct channel_mark *mark, const struct reader_message *message);

/*
 * `flags`: of recvmsg(2). 0; -EPIPE: the other end is closed; -EBADMSG: no message of ours; -EAGAIN, -EINTR, -errno.
 * Where it fails, `message` has no descriptors.
 */
int channel_receive(int fd, int flags, struct channel_mark *mark, struct reader_message *message);

#endif
