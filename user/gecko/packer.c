/* SPDX-License-Identifier: BSD-2-Clause */
/* packer.c - see packer.h. The lock protects the two queues; a job that is in neither belongs to whoever took it. */
#include "gecko/packer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The caller packs rather than have more wait: what waits is not packed, and takes memory. */
#define QUEUE_MAX 4
#define RAW_WINDOW (-15)
#define DEFLATE_MEMORY 9

struct deflater {
	z_stream stream;
	bool is_open;
	char out[PACKER_PIECE_BYTES];
};

struct queue {
	struct packer_job *first, **end;
	unsigned int count;
};

struct packer {
	pthread_mutex_t lock;
	pthread_cond_t given, finished;
	pthread_t thread;
	bool is_started; /* it was tried */
	bool has_thread, is_closing;
	unsigned int busy; /* jobs that the thread has taken */
	struct queue waiting, done;
	struct deflater callers, workers;
};

/* ---- one piece --------------------------------------------------------------------- */

static bool open_deflater(struct deflater *deflater)
{
	z_stream *stream = &deflater->stream;

	if (deflater->is_open)
		return deflateReset(stream) == Z_OK;
	deflater->is_open = deflateInit2(stream, PACKER_LEVEL, Z_DEFLATED, RAW_WINDOW,
					 DEFLATE_MEMORY, Z_DEFAULT_STRATEGY) == Z_OK;
	return deflater->is_open;
}

static void pack(struct deflater *deflater, struct piece *piece)
{
	z_stream *stream = &deflater->stream;

	if (!piece->size || !open_deflater(deflater))
		return;
	stream->next_in = (Bytef *)piece->bytes;
	stream->avail_in = piece->size;
	stream->next_out = (Bytef *)deflater->out;
	stream->avail_out = piece->size;
	/* Room that is left over says that all is out. */
	if (deflate(stream, Z_FULL_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out)
		return;
	piece->crc = (uint32_t)crc32(0, (const Bytef *)piece->bytes, piece->size);
	piece->plain_size = piece->size;
	piece->size -= stream->avail_out;
	memcpy(piece->bytes, deflater->out, piece->size);
	piece->is_packed = true;
}

/* ---- queues ------------------------------------------------------------------------- */

static void push(struct queue *queue, struct packer_job *job)
{
	job->next = NULL;
	if (!queue->first)
		queue->end = &queue->first;
	*queue->end = job;
	queue->end = &job->next;
	queue->count++;
}

static struct packer_job *pop(struct queue *queue)
{
	struct packer_job *job = queue->first;

	if (job) {
		queue->first = job->next;
		queue->count--;
	}
	return job;
}

/* ---- the thread ------------------------------------------------------------------------ */

static void *work(void *context)
{
	struct packer *packer = context;
	struct packer_job *job;

	pthread_mutex_lock(&packer->lock);
	while (!packer->is_closing) {
		job = pop(&packer->waiting);
		if (!job) {
			pthread_cond_wait(&packer->given, &packer->lock);
			continue;
		}
		packer->busy++;
		pthread_mutex_unlock(&packer->lock);
		pack(&packer->workers, &job->piece);
		pthread_mutex_lock(&packer->lock);
		packer->busy--;
		push(&packer->done, job);
		pthread_cond_signal(&packer->finished);
	}
	pthread_mutex_unlock(&packer->lock);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static void start(struct packer *packer)
{
	sigset_t all, before;

	packer->is_started = true;
	sigfillset(&all);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	packer->has_thread = !pthread_create(&packer->thread, NULL, work, packer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int packer_open(struct packer **out)
{
	struct packer *packer = calloc(1, sizeof(*packer));

	if (!packer)
		return -ENOMEM;
	pthread_mutex_init(&packer->lock, NULL);
	pthread_cond_init(&packer->given, NULL);
	pthread_cond_init(&packer->finished, NULL);
	*out = packer;
	return 0;
}

static void stop(struct packer *packer)
{
	pthread_mutex_lock(&packer->lock);
	packer->is_closing = true;
	pthread_cond_signal(&packer->given);
	pthread_mutex_unlock(&packer->lock);
	pthread_join(packer->thread, NULL);
}

static void close_deflater(struct deflater *deflater)
{
	if (deflater->is_open)
		deflateEnd(&deflater->stream);
}

void packer_close(struct packer *packer)
{
	if (!packer)
		return;
	if (packer->has_thread)
		stop(packer);
	close_deflater(&packer->callers);
	close_deflater(&packer->workers);
	pthread_cond_destroy(&packer->finished);
	pthread_cond_destroy(&packer->given);
	pthread_mutex_destroy(&packer->lock);
	free(packer);
}

/* ---- giving and taking -------------------------------------------------------------------- */

/* False: it has enough to do. */
static bool give_thread(struct packer *packer, struct packer_job *job)
{
	bool takes;

	pthread_mutex_lock(&packer->lock);
	takes = packer->has_thread && packer->waiting.count < QUEUE_MAX;
	if (takes)
		push(&packer->waiting, job);
	pthread_cond_signal(&packer->given);
	pthread_mutex_unlock(&packer->lock);
	return takes;
}

void packer_give(struct packer *packer, struct packer_job *job)
{
	if (!packer->is_started)
		start(packer);
	if (give_thread(packer, job))
		return;
	pack(&packer->callers, &job->piece);
	pthread_mutex_lock(&packer->lock);
	push(&packer->done, job);
	pthread_mutex_unlock(&packer->lock);
}

struct packer_job *packer_take(struct packer *packer)
{
	struct packer_job *job;

	pthread_mutex_lock(&packer->lock);
	job = pop(&packer->done);
	pthread_mutex_unlock(&packer->lock);
	return job;
}

struct packer_job *packer_wait(struct packer *packer)
{
	struct packer_job *job, *mine = NULL;

	pthread_mutex_lock(&packer->lock);
	job = pop(&packer->done);
	if (!job)
		mine = pop(&packer->waiting);
	while (!job && !mine && packer->busy) {
		pthread_cond_wait(&packer->finished, &packer->lock);
		job = pop(&packer->done);
	}
	pthread_mutex_unlock(&packer->lock);
	if (mine)
		pack(&packer->callers, &mine->piece);
	return mine ? mine : job;
}
