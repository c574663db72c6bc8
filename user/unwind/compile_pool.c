/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_pool.c - see compile_pool.h.
 *
 * The workers share only `next`, from which each takes the number of its next job; a job is one
 * worker's. They live for one run, since runs are rare: at the start, and when a program brings new
 * libraries.
 */
#include "unwind/compile_pool.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
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

void compile_pool_run(struct compile_job *jobs, size_t count)
{
	struct pool pool = {.jobs = jobs, .count = count};
	uint64_t bytes = sum_bytes(jobs, count);
	size_t helpers = helper_count(bytes, count), started, i;
	pthread_t threads[MAX_WORKERS];

	if (!count)
		return;
	qsort(jobs, count, sizeof(*jobs), by_size);
	for (started = 0; started < helpers; started++)
		if (pthread_create(&threads[started], NULL, work, &pool))
			break;
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
