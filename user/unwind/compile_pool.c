/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_pool.c - see compile_pool.h.
 *
 * The workers share only `next`, from which each takes the number of its next job; a job is one
 * worker's. They live for one run, since runs are rare: at the start, and when a program brings new
 * libraries.
 */
#include "unwind/compile_pool.h"

#include "base/helper_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_WORKERS 8
/* Bytes of files below which threads cost more than they save. */
#define WORTH_A_THREAD (256 * 1024)

/* Bytes of files above which what they needed is worth giving back. */
#define WORTH_A_TRIM (16u << 20)

struct pool {
	struct compile_job *jobs;
	size_t count;
	atomic_size_t next;
};

static int by_size(const void *left, const void *right)
{
	const struct compile_job *a = left, *b = right;

	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

static void *work(void *context)
{
	struct pool *pool = context;
	size_t i;

	while ((i = atomic_fetch_add(&pool->next, 1)) < pool->count) {
		struct compile_job *job = &pool->jobs[i];

		job->table = NULL;
		job->error = unwind_table_compile(&job->table, &job->source);
	}
	return NULL;
}

static void *help(void *context)
{
	helper_thread_give_up_rights();
	return work(context);
}

static uint64_t sum_bytes(const struct compile_job *jobs, size_t count)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < count; i++)
		bytes += jobs[i].bytes;
	return bytes;
}

/* How many threads besides the caller's are worth it, for files of so many bytes. */
static size_t helper_count(uint64_t bytes, size_t count)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t helpers = cpus > 1 ? (size_t)cpus - 1 : 0;

	if (bytes < WORTH_A_THREAD || !count)
		return 0;
	if (helpers > count - 1)
		helpers = count - 1;
	return helpers < MAX_WORKERS ? helpers : MAX_WORKERS;
}

/*
 * Who is waited for must not be later than who waits. A thread has the usual priority if its maker raised its own for
 * itself alone (SCHED_RESET_ON_FORK): real-time priority is given on, a nice value cannot be, and false is
 * returned.
 */
static bool set_scheduling(pthread_attr_t *attributes)
{
	const int policy = sched_getscheduler(0), mine = policy & ~SCHED_RESET_ON_FORK;
	struct sched_param param;

	if (policy < 0 || policy == mine)
		return true;
	return mine != SCHED_OTHER && !sched_getparam(0, &param) &&
	       !pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED) &&
	       !pthread_attr_setschedpolicy(attributes, mine) &&
	       !pthread_attr_setschedparam(attributes, &param);
}

/* How many were started. */
static size_t start_helpers(struct pool *pool, size_t count, pthread_t *threads)
{
	pthread_attr_t attributes;
	size_t started = 0;

	if (!count || pthread_attr_init(&attributes))
		return 0;
	if (set_scheduling(&attributes))
		while (started < count &&
		       !pthread_create(&threads[started], &attributes, help, pool))
			started++;
	pthread_attr_destroy(&attributes);
	return started;
}

void compile_pool_run(struct compile_job *jobs, size_t count)
{
	struct pool pool = {.jobs = jobs, .count = count};
	uint64_t bytes = sum_bytes(jobs, count);
	pthread_t threads[MAX_WORKERS];
	size_t started, i;

	if (!count)
		return;
	qsort(jobs, count, sizeof(*jobs), by_size);
	started = start_helpers(&pool, helper_count(bytes, count), threads);
	work(&pool);
	for (i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	/*
	 * malloc keeps megabytes from one file to the next, which is what makes the next one fast;
	 * then nobody needs them.
	 */
	if (bytes >= WORTH_A_TRIM)
		(void)malloc_trim(0);
}
