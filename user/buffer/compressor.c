/* SPDX-License-Identifier: BSD-2-Clause */
/* compressor.c - see compressor.h. */
#include "buffer/compressor.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_thread.h"
#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"

/* Written by the thread alone; each number is right, together they may be of different moments. */
struct atomic_counts {
	_Atomic uint64_t chunks, bytes_in, bytes_out, kept, failures, cpu_ns;
};

struct compressor {
	struct compressor_source source;
	struct chunk_codec *codec; /* the thread's */
	struct atomic_counts counts;
	pthread_t thread;
	_Atomic pid_t tid; /* 0: not known yet */
	atomic_bool is_hurried;
	bool may_idle; /* and come back */
};

/* Of a thread, 0: this one. */
static bool set_policy(pid_t tid, int policy)
{
	return !sched_setscheduler(tid, policy, &(struct sched_param){.sched_priority = 0});
}

/*
 * compressor_hurry() sets the flag, then the policy. We set the policy, then look at the flag: so
 * whichever comes last, a hurried thread is not idle.
 */
static void idle(struct compressor *compressor)
{
	if (!compressor->may_idle)
		return;
	set_policy(0, SCHED_IDLE);
	if (atomic_load(&compressor->is_hurried))
		set_policy(0, SCHED_OTHER);
}

static void count(struct compressor *compressor, const struct chunk *chunk,
		  const struct chunk *twin, int err)
{
	struct atomic_counts *counts = &compressor->counts;

	if (err) {
		atomic_fetch_add(err == -ENOSPC ? &counts->kept : &counts->failures, 1);
	} else {
		atomic_fetch_add(&counts->chunks, 1);
		atomic_fetch_add(&counts->bytes_in, chunk->header.stored_bytes);
		atomic_fetch_add(&counts->bytes_out, twin->header.stored_bytes);
	}
	atomic_store(&counts->cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID));
}

static void *work(void *context)
{
	struct compressor *compressor = context;
	const struct compressor_source *source = &compressor->source;
	struct chunk *chunk, *twin;
	int err;

	helper_thread_keep_nice();
	atomic_store(&compressor->tid, gettid());
	while ((chunk = source->take(source->context))) {
		twin = NULL;
		idle(compressor);
		err = chunk_compress(compressor->codec, chunk, &twin);
		set_policy(0, SCHED_OTHER);
		count(compressor, chunk, twin, err);
		source->give(source->context, chunk, twin);
	}
	return NULL;
}

static void *try_idle(void *context)
{
	struct compressor *compressor = context;

	helper_thread_keep_nice();
	compressor->may_idle = set_policy(0, SCHED_IDLE) && set_policy(0, SCHED_OTHER);
	return NULL;
}

/*
 * Every thread may become idle; to come back is a privilege. The thread that finds out may be stuck
 * in it, so it is one that ends then.
 */
static int find_out(struct compressor *compressor)
{
	pthread_t thread;
	int err = -pthread_create(&thread, NULL, try_idle, compressor);

	return err ? err : -pthread_join(thread, NULL);
}

/* A thread begins with the signal mask of the thread that starts it. */
static int start(struct compressor *compressor)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	err = -pthread_sigmask(SIG_SETMASK, &all, &before);
	if (err)
		return err;
	err = find_out(compressor);
	if (!err)
		err = -pthread_create(&compressor->thread, NULL, work, compressor);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

static void free_compressor(struct compressor *compressor)
{
	chunk_codec_close(compressor->codec);
	free(compressor);
}

int compressor_open(struct compressor **out, const struct compressor_source *source,
		    uint32_t max_bytes)
{
	struct compressor *compressor = calloc(1, sizeof(*compressor));
	int err;

	if (!compressor)
		return -ENOMEM;
	compressor->source = *source;
	err = chunk_codec_open(&compressor->codec, max_bytes, CODEC_WRITE);
	if (!err)
		err = start(compressor);
	if (err) {
		free_compressor(compressor);
		return err;
	}
	*out = compressor;
	return 0;
}

void compressor_close(struct compressor *compressor)
{
	if (!compressor)
		return;
	pthread_join(compressor->thread, NULL);
	free_compressor(compressor);
}

void compressor_hurry(struct compressor *compressor, bool hurry)
{
	pid_t tid = atomic_load(&compressor->tid);

	atomic_store(&compressor->is_hurried, hurry);
	if (hurry && tid)
		set_policy(tid, SCHED_OTHER);
}

struct compressor_counts compressor_get_counts(const struct compressor *compressor)
{
	const struct atomic_counts *counts = &compressor->counts;

	return (struct compressor_counts){
		.chunks = atomic_load(&counts->chunks),
		.bytes_in = atomic_load(&counts->bytes_in),
		.bytes_out = atomic_load(&counts->bytes_out),
		.kept = atomic_load(&counts->kept),
		.failures = atomic_load(&counts->failures),
		.cpu_ns = atomic_load(&counts->cpu_ns),
	};
}
