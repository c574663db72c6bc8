/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - a process that looks at files of others in our place: it may hang, die, or be taken over by what it reads.
 *
 * It is the program that runs, started again as `--reader=ROLE` (service/service.h), and knows nothing of its client but
 * one request at a time. One that is late, dies, or answers what makes no sense is killed and left
 * behind; the next request starts another. So a request that failed says something of its file, and nothing of the
 * next request. One that has not come to be ready yet is not killed for that, unless it takes seconds: where the machine is so
 * slow, the next one would not be faster.
 *
 * After a fork(2) the child may go on to use a reader: it gets a process of its own. One thread at a time.
 */
#ifndef GECKOBPF_READER_READER_H
#define GECKOBPF_READER_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/message.h"

struct reader;

enum reader_role {
	READER_OPENER, /* may open, parses nothing */
	READER_PARSER, /* parses what it is handed, may open nothing */
};

/* "opener", "parser" */
const char *reader_role_name(enum reader_role role);

struct reader_config {
	enum reader_role role;
	/*
	 * What the reader asks back while it serves a request: fills in `answer`, whose descriptors are closed when they are
	 * sent. NULL: it may ask nothing. `ask` is hostile; its descriptors are closed by the caller.
	 */
	void (*answer)(void *context, const struct reader_message *ask,
		       struct reader_message *answer);
	void *context;
};

/* How long to wait for the reader. */
struct reader_wait {
	uint64_t
		deadline_ns; /* of clock_now_ns(); what we take to answer what is asked back is not counted */
	bool (*is_cancelled)(void *context); /* asked every 20 ms; NULL: never */
	void *context;
};

struct reader_stats {
	uint64_t asked; /* requests */
	/* Those that were not answered, by cause; and cancelled ones, whose reader is killed, too. */
	uint64_t late, died, bad, cancelled;
	uint64_t started; /* processes, of which one is not for want of another */
};

/*
 * The program that runs serves as a reader when it is started so: service_main() says that. Without it none is started,
 * since it would be something else that is.
 */
void reader_enable(void);

/* Starts nothing yet. 0 or -ENOMEM. */
int reader_open(struct reader **out, const struct reader_config *config);
/* Waits for the process to end, but not long. */
void reader_close(struct reader *reader);

/* Starts the process, so that it is there when it is needed. */
void reader_prepare(struct reader *reader);

/*
 * Sends a request, starting the process if there is none. 0: the answer is yet to come, see reader_poll(); -EBUSY: one
 * is at work; -EAGAIN: no process can be started now; -ENOSYS: see reader_enable(); -EPIPE: it died.
 */
int reader_begin(struct reader *reader, const struct reader_message *request);

/*
 * Waits for the answer to what was begun. 0: *answer is there, its descriptors the caller's; -EAGAIN: `deadline_ns` is
 * over, and it is at work still; -ECANCELED; -EPIPE: it died; -EBADMSG: it answered nonsense, and is killed.
 */
int reader_poll(struct reader *reader, const struct reader_wait *wait,
		struct reader_message *answer);

/* The answer is wanted no more, for it is late: kills the process. */
void reader_give_up(struct reader *reader);
/* The answer made no sense, as its receiver found out: kills the process. */
void reader_distrust(struct reader *reader);

/* Its answer is not waited for now: until the next request it goes before nobody. */
void reader_ease(struct reader *reader);

/* It goes before others as far as we do, if we have given up to go before all others. */
void reader_follow(struct reader *reader);

/* Ends a process that has nothing to do, with the memory that it has. */
void reader_end(struct reader *reader);

/*
 * Both in one. As reader_begin() and reader_poll(), but -ETIMEDOUT where it was late, and is killed; -EAGAIN where it is not
 * ready yet.
 */
int reader_call(struct reader *reader, const struct reader_message *request,
		const struct reader_wait *wait, struct reader_message *answer);

/* It has begun a request that is not answered. */
bool reader_is_busy(const struct reader *reader);

/* Becomes readable when it says something; -1: there is no process. */
int reader_fd(const struct reader *reader);

struct reader_stats reader_get_stats(const struct reader *reader);

#endif
