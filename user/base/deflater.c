/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deflater.c - see deflater.h. The lock protects the two queues; a job that is in neither belongs
 * to the thread that took it.
 */
#include "base/deflater.h"
#include "base/helper_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

/* The caller packs rather than have more wait: what waits is not packed, and takes memory. */
#define QUEUE_MAX 4
#define RAW_WINDOW (-15)
#define DEFLATE_MEMORY 9

struct deflation {
	z_stream stream;
	bool is_open;
	char out[DEFLATER_PIECE_BYTES];
};

struct queue {
	struct deflater_job *first, **end;
	unsigned int count;
};

struct deflater {
	pthread_mutex_t lock;
	pthread_cond_t given, finished;
	pthread_t thread;
	int nice; /* of who started it */
	bool is_started; /* the thread was started, or could not be */
	bool has_thread, is_closing;
	unsigned int busy; /* jobs that the thread has taken */
	struct queue waiting, done;
	struct deflation callers, workers;
};

/* ---- one piece --------------------------------------------------------------------- */

static bool open_deflation(struct deflation *deflation)
{
	z_stream *stream = &deflation->stream;

	if (deflation->is_open)
		return deflateReset(stream) == Z_OK;
	deflation->is_open = deflateInit2(stream, DEFLATER_LEVEL, Z_DEFLATED, RAW_WINDOW,
					  DEFLATE_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
	return deflation->is_open;
}

static void pack(struct deflation *deflation, struct piece *piece)
{
	z_stream *stream = &deflation->stream;

	if (!piece->size || !open_deflation(deflation))
		return;
	stream->next_in = (Bytef *)piece->bytes;
	stream->avail_in = piece->size;
	stream->next_out = (Bytef *)deflation->out;
	stream->avail_out = piece->size;
	/* Room that is left over says that all is out. */
	if (deflate(stream, Z_FULL_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out)
		return;
	piece->crc = (uint32_t)crc32(0, (const Bytef *)piece->bytes, piece->size);
	piece->plain_size = piece->size;
	piece->size -= stream->avail_out;
	memcpy(piece->bytes, deflation->out, piece->size);
	piece->is_packed = true;
}

/* ---- queues ------------------------------------------------------------------------- */

static void push(struct queue *queue, struct deflater_job *job)
{
	job->next = NULL;
	if (!queue->first)
		queue->end = &queue->first;
	*queue->end = job;
	queue->end = &job->next;
	queue->count++;
}

static struct deflater_job *pop(struct queue *queue)
{
	struct deflater_job *job = queue->first;

	if (job) {
		queue->first = job->next;
		queue->count--;
	}
	return job;
}

/* ---- the thread ------------------------------------------------------------------------ */

static void *work(void *context)
{
	struct deflater *deflater = context;
	struct deflater_job *job;

	helper_thread_give_up_rights();
	/* What is waited for has the priority of who waits, also if that is not given on. */
	(void)setpriority(PRIO_PROCESS, 0, deflater->nice);
	pthread_mutex_lock(&deflater->lock);
	while (!deflater->is_closing) {
		job = pop(&deflater->waiting);
		if (!job) {
			pthread_cond_wait(&deflater->given, &deflater->lock);
			continue;
		}
		deflater->busy++;
		pthread_mutex_unlock(&deflater->lock);
		pack(&deflater->workers, &job->piece);
		pthread_mutex_lock(&deflater->lock);
		deflater->busy--;
		push(&deflater->done, job);
		pthread_cond_signal(&deflater->finished);
	}
	pthread_mutex_unlock(&deflater->lock);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static void start(struct deflater *deflater)
{
	sigset_t all, before;

	deflater->is_started = true;
	deflater->nice = getpriority(PRIO_PROCESS, 0);
	sigfillset(&all);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	deflater->has_thread = !pthread_create(&deflater->thread, NULL, work, deflater);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int deflater_open(struct deflater **out)
{
	struct deflater *deflater = calloc(1, sizeof(*deflater));

	if (!deflater)
		return -ENOMEM;
	pthread_mutex_init(&deflater->lock, NULL);
	pthread_cond_init(&deflater->given, NULL);
	pthread_cond_init(&deflater->finished, NULL);
	*out = deflater;
	return 0;
}

static void stop(struct deflater *deflater)
{
	pthread_mutex_lock(&deflater->lock);
	deflater->is_closing = true;
	pthread_cond_signal(&deflater->given);
	pthread_mutex_unlock(&deflater->lock);
	pthread_join(deflater->thread, NULL);
}

static void close_deflation(struct deflation *deflation)
{
	if (deflation->is_open)
		deflateEnd(&deflation->stream);
}

void deflater_close(struct deflater *deflater)
{
	if (!deflater)
		return;
	if (deflater->has_thread)
		stop(deflater);
	close_deflation(&deflater->callers);
	close_deflation(&deflater->workers);
	pthread_cond_destroy(&deflater->finished);
	pthread_cond_destroy(&deflater->given);
	pthread_mutex_destroy(&deflater->lock);
	free(deflater);
}

/* ---- giving and taking -------------------------------------------------------------------- */

/* Hands the job to the thread. False: it has enough to do. */
static bool give_thread(struct deflater *deflater, struct deflater_job *job)
{
	bool takes;

	pthread_mutex_lock(&deflater->lock);
	takes = deflater->has_thread && deflater->waiting.count < QUEUE_MAX;
	if (takes)
		push(&deflater->waiting, job);
	pthread_cond_signal(&deflater->given);
	pthread_mutex_unlock(&deflater->lock);
	return takes;
}

void deflater_give(struct deflater *deflater, struct deflater_job *job)
{
	if (!deflater->is_started)
		start(deflater);
	if (give_thread(deflater, job))
		return;
	pack(&deflater->callers, &job->piece);
	pthread_mutex_lock(&deflater->lock);
	push(&deflater->done, job);
	pthread_mutex_unlock(&deflater->lock);
}

struct deflater_job *deflater_take(struct deflater *deflater)
{
	struct deflater_job *job;

	pthread_mutex_lock(&deflater->lock);
	job = pop(&deflater->done);
	pthread_mutex_unlock(&deflater->lock);
	return job;
}

struct deflater_job *deflater_wait(struct deflater *deflater)
{
	struct deflater_job *job, *mine = NULL;

	pthread_mutex_lock(&deflater->lock);
	job = pop(&deflater->done);
	if (!job)
		mine = pop(&deflater->waiting);
	while (!job && !mine && deflater->busy) {
		pthread_cond_wait(&deflater->finished, &deflater->lock);
		job = pop(&deflater->done);
	}
	pthread_mutex_unlock(&deflater->lock);
	if (mine)
		pack(&deflater->callers, &mine->piece);
	return mine ? mine : job;
}
