/* SPDX-License-Identifier: BSD-2-Clause */
/* log_writer.c - see log_writer.h. One thread says messages, one writes them. */
#include "base/log_writer.h"

#include "base/fd.h"
#include "base/helper_thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_BYTES 65536
#define PIECE_BYTES 1024
/* So long a message may take before those that say it go on. */
#define PATIENCE_MS 200
#define LAST_PATIENCE_MS 1000
#define DROPPED_BYTES 160

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	pid_t owner; /* 0: there is no thread */
	bool is_writing, is_closing;
	bool is_stuck; /* nobody waits until it is not */
	bool is_abandoned; /* closed, with a thread that waits for ever */
	uint64_t dropped;
	size_t used; /* of `queue` */
	char queue[QUEUE_BYTES];
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_done(void)
{
	return !writer.used && !writer.is_writing;
}

/* Called with the lock, as are the others. */
static void say_dropped(void)
{
	int size;

	if (!writer.dropped || writer.used)
		return;
	size = snprintf(writer.queue, DROPPED_BYTES,
			"geckobpf: warning: %" PRIu64
			" messages were dropped, for nobody took them from here\n",
			writer.dropped);
	writer.used = (size_t)size;
	writer.dropped = 0;
}

static void write_piece(void)
{
	char piece[PIECE_BYTES];
	size_t size = writer.used < sizeof(piece) ? writer.used : sizeof(piece);

	memcpy(piece, writer.queue, size);
	writer.used -= size;
	memmove(writer.queue, writer.queue + size, writer.used);
	writer.is_writing = true;
	pthread_mutex_unlock(&writer.lock);
	(void)fd_write_all(STDERR_FILENO, piece, size);
	pthread_mutex_lock(&writer.lock);
	writer.is_writing = false;
	say_dropped();
}

static void *run(void *context)
{
	helper_thread_give_up_rights();
	pthread_mutex_lock(&writer.lock);
	while (writer.used || !writer.is_closing) {
		if (writer.used) {
			write_piece();
			continue;
		}
		writer.is_stuck = false;
		pthread_cond_broadcast(&writer.changed);
		pthread_cond_wait(&writer.changed, &writer.lock);
	}
	pthread_cond_broadcast(&writer.changed);
	pthread_mutex_unlock(&writer.lock);
	return NULL;
}

/* Whether all is out by then. */
static bool wait_until_done(long patience_ms)
{
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += patience_ms % 1000 * 1000000;
	end.tv_sec += patience_ms / 1000 + end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (!is_done())
		if (pthread_cond_timedwait(&writer.changed, &writer.lock, &end))
			return is_done();
	return true;
}

int log_writer_open(void)
{
	pthread_condattr_t attributes;
	sigset_t all, before;
	int err;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&writer.changed, &attributes);
	pthread_condattr_destroy(&attributes);
	writer.is_closing = false;
	/* A terminal that lets nobody in the background write would stop us by one. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(&writer.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	writer.owner = err ? 0 : getpid();
	return -err;
}

void log_writer_close(void)
{
	if (!writer.owner)
		return;
	pthread_mutex_lock(&writer.lock);
	writer.is_closing = true;
	pthread_cond_broadcast(&writer.changed);
	writer.is_abandoned = !wait_until_done(LAST_PATIENCE_MS);
	pthread_mutex_unlock(&writer.lock);
	writer.owner = 0;
	if (writer.is_abandoned)
		pthread_detach(writer.thread);
	else
		pthread_join(writer.thread, NULL);
}

static void put(const char *text, size_t size)
{
	if (size > QUEUE_BYTES - DROPPED_BYTES - writer.used) {
		writer.dropped++;
		return;
	}
	memcpy(writer.queue + writer.used, text, size);
	writer.used += size;
	pthread_cond_broadcast(&writer.changed);
	if (!writer.is_stuck)
		writer.is_stuck = !wait_until_done(PATIENCE_MS);
}

void log_writer_put(const char *text, size_t size)
{
	if (writer.is_abandoned)
		return;
	if (writer.owner != getpid()) {
		(void)fd_write_all(STDERR_FILENO, text, size);
		return;
	}
	pthread_mutex_lock(&writer.lock);
	put(text, size);
	pthread_mutex_unlock(&writer.lock);
}

bool log_writer_is_late(void)
{
	bool is_late;

	if (writer.owner != getpid())
		return writer.is_abandoned;
	pthread_mutex_lock(&writer.lock);
	is_late = !is_done();
	pthread_mutex_unlock(&writer.lock);
	return is_late;
}
