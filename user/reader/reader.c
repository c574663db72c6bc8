/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.c - see reader.h. */
#include "reader/reader.h"

#include "base/clock.h"
#include "base/fd.h"
#include "reader/channel.h"
#include "reader/hurry.h"
#include "reader/left_behind.h"
#include "reader/start.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOSE_NS (100 * NS_PER_MS) /* one that does not hang has ended by then */
#define MAX_ASKS 4096 /* in one request; who asks more makes no sense */
#define LOOK_NS (20 * NS_PER_MS) /* how often it is asked whether it is cancelled */
#define START_NS (3 * NS_PER_SEC) /* one that is not ready by then never will be */

struct reader {
	struct reader_config config;
	struct reader_stats stats;
	pid_t owner; /* who started the process */
	pid_t child; /* 0: none */
	int fd;
	uint32_t number; /* of the request */
	uint32_t owed; /* answers to earlier requests, which nobody waits for any more */
	uint64_t started_ns;
	bool is_ready, is_busy, is_eased;
	uint32_t asks; /* that were answered meanwhile */
	uint64_t asks_ns; /* the time that it took us */
	struct reader_message ask, reply; /* what is asked back */
};

static bool is_enabled;

void reader_enable(void)
{
	is_enabled = true;
}

const char *reader_role_name(enum reader_role role)
{
	return role == READER_OPENER ? "opener" : "parser";
}

int reader_open(struct reader **out, const struct reader_config *config)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->config = *config;
	reader->fd = -1;
	*out = reader;
	return 0;
}

/* The process is of no use any more, or another's. */
static void end(struct reader *reader, uint64_t wait_ns)
{
	fd_close(&reader->fd);
	if (reader->child && reader->owner == getpid())
		left_behind_add(reader->child, wait_ns);
	reader->child = 0;
	reader->owed = 0;
	reader->is_ready = reader->is_busy = reader->is_eased = false;
}

static void abandon(struct reader *reader)
{
	end(reader, 0);
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	end(reader, CLOSE_NS);
	free(reader);
}

static int start(struct reader *reader)
{
	int err;

	if (!is_enabled)
		return -ENOSYS;
	if (!left_behind_has_room())
		return -EAGAIN;
	err = reader_start(reader->config.role, &reader->child, &reader->fd);
	if (err)
		return -EAGAIN;
	reader->owner = getpid();
	reader->started_ns = clock_now_ns();
	reader->stats.started++;
	return 0;
}

void reader_prepare(struct reader *reader)
{
	if (!reader->child)
		(void)start(reader);
}

static int send_request(struct reader *reader, const struct reader_message *request)
{
	const struct channel_mark mark = {CHANNEL_REQUEST, ++reader->number};
	int err;

	if (!reader->child) {
		err = start(reader);
		if (err)
			return err;
	}
	if (reader->is_eased)
		hurry_up(reader->child);
	reader->is_eased = false;
	return channel_send(reader->fd, &mark, request);
}

int reader_begin(struct reader *reader, const struct reader_message *request)
{
	int err;

	if (reader->child && reader->owner != getpid())
		abandon(reader);
	if (reader->is_busy)
		return -EBUSY;
	reader->stats.asked++;
	reader->asks = 0;
	reader->asks_ns = 0;
	err = send_request(reader, request);
	/* It ended while there was nothing to do: that is not this request's fault. */
	if (err && reader->child) {
		abandon(reader);
		err = send_request(reader, request);
	}
	reader->is_busy = !err;
	if (err) {
		reader->stats.died++;
		abandon(reader);
	}
	return err;
}

/* ---- waiting ------------------------------------------------------------------------- */

static int answer_ask(struct reader *reader, const struct channel_mark *asked)
{
	const struct channel_mark mark = {CHANNEL_ANSWER, asked->number};
	const uint64_t begin_ns = clock_now_ns();
	int err = reader->config.answer && reader->asks++ < MAX_ASKS ? 0 : -EBADMSG;

	if (!err) {
		reader_message_begin(&reader->reply, reader->ask.kind);
		reader->config.answer(reader->config.context, &reader->ask, &reader->reply);
		/* Who asks and does not listen makes no sense. */
		if (channel_send(reader->fd, &mark, &reader->reply))
			err = -EBADMSG;
		reader_message_close(&reader->reply);
	}
	reader_message_close(&reader->ask);
	reader->asks_ns += clock_now_ns() - begin_ns;
	return err;
}

/* Takes in one packet, if there is one. 0: it is the answer; -EAGAIN: not yet; -EPIPE, -EBADMSG. */
static int take(struct reader *reader, struct reader_message *answer)
{
	struct channel_mark mark;
	int err = channel_receive(reader->fd, MSG_DONTWAIT, &mark, answer);

	if (err == -EINTR)
		return -EAGAIN;
	if (err)
		return err;
	if (mark.number == reader->number && mark.what == CHANNEL_ANSWER)
		return 0;
	if (mark.what == CHANNEL_READY && !reader->is_ready) {
		reader_message_close(answer);
		reader->is_ready = true;
		return -EAGAIN;
	}
	if (reader->owed && mark.what == CHANNEL_ANSWER) {
		reader_message_close(answer);
		reader->owed--;
		return -EAGAIN;
	}
	/* For what was given up: it has the next request in place of an answer. */
	if (reader->owed && mark.what == CHANNEL_ASK && mark.number != reader->number) {
		reader_message_close(answer);
		return -EAGAIN;
	}
	if (mark.number == reader->number && mark.what == CHANNEL_ASK) {
		reader->ask = *answer;
		answer->fd_count = 0;
		err = answer_ask(reader, &mark);
		return err ? err : -EAGAIN;
	}
	reader_message_close(answer);
	return -EBADMSG;
}

/* Until there is something to read, or it is time to look up. */
static void wait_a_while(const struct reader *reader, uint64_t left_ns)
{
	struct pollfd item = {.fd = reader->fd, .events = POLLIN};
	const uint64_t ns = left_ns < LOOK_NS ? left_ns : LOOK_NS;
	const struct timespec timeout = {.tv_nsec = (long)ns};

	(void)ppoll(&item, 1, &timeout, NULL);
}

static int wait_for(struct reader *reader, const struct reader_wait *wait,
		    struct reader_message *answer)
{
	uint64_t now_ns;
	int err;

	for (;;) {
		err = take(reader, answer);
		now_ns = clock_now_ns();
		if (err && err != -EAGAIN)
			return err == -EPIPE ? err : -EBADMSG;
		if (!err || now_ns >= wait->deadline_ns + reader->asks_ns)
			return err;
		if (wait->is_cancelled && wait->is_cancelled(wait->context))
			return -ECANCELED;
		wait_a_while(reader, wait->deadline_ns + reader->asks_ns - now_ns);
	}
}

int reader_poll(struct reader *reader, const struct reader_wait *wait,
		struct reader_message *answer)
{
	int err;

	answer->fd_count = 0;
	if (!reader->is_busy || reader->owner != getpid())
		return -EPIPE;
	err = wait_for(reader, wait, answer);
	if (err == -EAGAIN)
		return err;
	reader->is_busy = false;
	reader->stats.cancelled += err == -ECANCELED;
	reader->stats.died += err == -EPIPE;
	reader->stats.bad += err == -EBADMSG;
	if (err)
		abandon(reader);
	return err;
}

void reader_give_up(struct reader *reader)
{
	reader->stats.late += reader->is_busy;
	abandon(reader);
}

void reader_ease(struct reader *reader)
{
	if (!reader->is_busy || reader->is_eased)
		return;
	hurry_no_more(reader->child);
	reader->is_eased = true;
}

void reader_follow(struct reader *reader)
{
	if (reader->child && reader->owner == getpid())
		hurry_follow(reader->child);
}

void reader_end(struct reader *reader)
{
	abandon(reader);
}

void reader_distrust(struct reader *reader)
{
	reader->stats.bad++;
	abandon(reader);
}

int reader_call(struct reader *reader, const struct reader_message *request,
		const struct reader_wait *wait, struct reader_message *answer)
{
	int err = reader_begin(reader, request);

	answer->fd_count = 0;
	if (!err)
		err = reader_poll(reader, wait, answer);
	if (err != -EAGAIN || !reader->is_busy)
		return err;
	if (!reader->is_ready && clock_now_ns() - reader->started_ns < START_NS) {
		reader->is_busy = false;
		reader->owed++;
		reader->stats.late++;
		return -EAGAIN;
	}
	reader_give_up(reader);
	return -ETIMEDOUT;
}

bool reader_is_busy(const struct reader *reader)
{
	return reader->is_busy;
}

int reader_fd(const struct reader *reader)
{
	return reader->fd;
}

struct reader_stats reader_get_stats(const struct reader *reader)
{
	return reader->stats;
}
