/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_pool.c - see compile_pool.h.
 *
 * A parser is started before there is anything to do, so that it is there when there is: it is asked what it could not
 * give up, and its answer is taken in with those to jobs. Memory is given back by ending the process that has it.
 */
#include "capture/compile_pool.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "capture/compile_order.h"
#include "service/state_request.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORKERS 8
#define MIN_WORKERS 2 /* one file that hangs does not keep up all others */
/* Bytes of files below which another parser costs more than it saves. */
#define WORTH_A_WORKER (256u << 10)
/* A parser goes before other programs, as the recorder does, for so long. */
#define HURRY_NS NS_PER_SEC
/* Bytes of a file above which what it needed is worth giving back. */
#define WORTH_AN_END (16u << 20)

struct worker {
	struct reader *reader;
	struct compile_job job; /* that it is at; none while it only starts */
	bool has_job, is_large;
	uint64_t deadline_ns;
};

struct waiting_job {
	struct compile_job job;
	struct compile_turn turn;
};

struct compile_pool {
	struct worker workers[MAX_WORKERS];
	size_t worker_count;
	struct {
		struct waiting_job *items; /* in the order in which they came */
		size_t count, capacity;
	} waiting;
	uint32_t lacks;
};

/* ---- open, close ------------------------------------------------------------------- */

static size_t count_workers(void)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < MIN_WORKERS)
		return MIN_WORKERS;
	return cpus < MAX_WORKERS ? (size_t)cpus : MAX_WORKERS;
}

static void start_worker(struct worker *worker)
{
	(void)state_begin(worker->reader);
	worker->deadline_ns = clock_now_ns() + COMPILE_MAX_NS;
}

int compile_pool_open(struct compile_pool **out)
{
	const struct reader_config config = {.role = READER_PARSER};
	const size_t count = count_workers();
	struct compile_pool *pool = calloc(1, sizeof(*pool));
	int err = pool ? 0 : -ENOMEM;

	while (!err && pool->worker_count < count) {
		struct worker *worker = &pool->workers[pool->worker_count];

		err = reader_open(&worker->reader, &config);
		pool->worker_count += !err;
		if (!err && pool->worker_count <= MIN_WORKERS)
			start_worker(worker);
	}
	if (err) {
		compile_pool_close(pool);
		return err;
	}
	*out = pool;
	return 0;
}

void compile_pool_close(struct compile_pool *pool)
{
	size_t i;

	if (!pool)
		return;
	for (i = 0; i < pool->worker_count; i++)
		reader_close(pool->workers[i].reader);
	for (i = 0; i < pool->waiting.count; i++)
		fd_close(&pool->waiting.items[i].job.fd);
	free(pool->waiting.items);
	free(pool);
}

uint32_t compile_pool_lacks(const struct compile_pool *pool)
{
	return pool->lacks;
}

/* ---- jobs -------------------------------------------------------------------------- */

int compile_pool_add(struct compile_pool *pool, const struct compile_job *job)
{
	int err = ARRAY_ROOM(&pool->waiting), fd = job->fd;

	if (err)
		fd_close(&fd);
	else
		pool->waiting.items[pool->waiting.count++] = (struct waiting_job){
			.job = *job, .turn = {.bytes = job->bytes, .mapped_ns = job->mapped_ns}};
	return err;
}

void compile_pool_hurry(struct compile_pool *pool, uint32_t tag)
{
	size_t i;

	for (i = 0; i < pool->waiting.count; i++)
		pool->waiting.items[i].turn.is_hurried |= pool->waiting.items[i].job.tag == tag;
}

static struct compile_job take_next(struct compile_pool *pool, size_t worker)
{
	struct waiting_job *items = pool->waiting.items;
	struct compile_job job;
	size_t first = 0, i;

	for (i = 1; i < pool->waiting.count; i++)
		if (compile_before(&items[i].turn, &items[first].turn, worker))
			first = i;
	job = items[first].job;
	memmove(&items[first], &items[first + 1], (--pool->waiting.count - first) * sizeof(*items));
	return job;
}

static uint64_t waiting_bytes(const struct compile_pool *pool)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < pool->waiting.count; i++)
		bytes += pool->waiting.items[i].job.bytes;
	return bytes;
}

/* True: it could not begin, and that is the result. */
static bool begin(struct worker *worker, const struct compile_job *job, struct compile_result *out)
{
	const int err = table_begin(worker->reader, job->fd);

	worker->job = *job;
	fd_close(&worker->job.fd);
	worker->has_job = !err;
	worker->is_large |= job->bytes >= WORTH_AN_END;
	worker->deadline_ns = clock_now_ns() + COMPILE_MAX_NS;
	*out = (struct compile_result){.tag = job->tag, .bytes = job->bytes, .error = err};
	return err != 0;
}

/* Whoever has nothing to do gets a job, as long as that is worth it. */
static bool hand_out(struct compile_pool *pool, struct compile_result *out)
{
	size_t i;

	for (i = 0; i < pool->worker_count && pool->waiting.count; i++) {
		struct worker *worker = &pool->workers[i];
		struct compile_job job;

		if (reader_is_busy(worker->reader))
			continue;
		if (reader_fd(worker->reader) < 0 && i && waiting_bytes(pool) < WORTH_A_WORKER)
			break;
		job = take_next(pool, i);
		if (begin(worker, &job, out))
			return true;
	}
	return false;
}

/* True: a job is over. */
static bool look_at(struct compile_pool *pool, struct worker *worker, struct compile_result *out)
{
	const struct reader_wait now = {0};
	struct reader_message answer;
	int err = reader_poll(worker->reader, &now, &answer);

	if (err == -EAGAIN && clock_now_ns() < worker->deadline_ns)
		return false;
	if (err == -EAGAIN) {
		reader_give_up(worker->reader);
		err = -ETIMEDOUT;
	}
	if (!worker->has_job) {
		pool->lacks |= err ? 0 : state_take(&answer);
		return false;
	}
	worker->has_job = false;
	*out = (struct compile_result){
		.tag = worker->job.tag, .bytes = worker->job.bytes, .error = err};
	if (!err)
		out->error = table_take(worker->reader, &answer, &out->made);
	return true;
}

static bool look(struct compile_pool *pool, struct compile_result *out)
{
	size_t i;

	for (i = 0; i < pool->worker_count; i++)
		if (reader_is_busy(pool->workers[i].reader) &&
		    look_at(pool, &pool->workers[i], out))
			return true;
	return false;
}

static bool has_jobs(const struct compile_pool *pool)
{
	size_t i;

	for (i = 0; i < pool->worker_count; i++)
		if (pool->workers[i].has_job)
			return true;
	return pool->waiting.count > 0;
}

/* Until a parser says something. */
static void wait_until(const struct compile_pool *pool, uint64_t until_ns)
{
	struct pollfd items[MAX_WORKERS];
	uint64_t now_ns = clock_now_ns(), left_ns;
	struct timespec timeout;
	nfds_t count = 0;
	size_t i;

	for (i = 0; i < pool->worker_count; i++) {
		const struct worker *worker = &pool->workers[i];

		if (!reader_is_busy(worker->reader))
			continue;
		if (worker->deadline_ns < until_ns)
			until_ns = worker->deadline_ns;
		items[count++] = (struct pollfd){.fd = reader_fd(worker->reader), .events = POLLIN};
	}
	left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	timeout.tv_sec = (time_t)(left_ns / NS_PER_SEC);
	timeout.tv_nsec = (long)(left_ns % NS_PER_SEC);
	(void)ppoll(items, count, &timeout, NULL);
}

static void ease_slow(struct compile_pool *pool, uint64_t now_ns)
{
	size_t i;

	for (i = 0; i < pool->worker_count; i++) {
		struct worker *worker = &pool->workers[i];

		if (now_ns > worker->deadline_ns - COMPILE_MAX_NS + HURRY_NS)
			reader_ease(worker->reader);
	}
}

static void end_large(struct compile_pool *pool)
{
	size_t i;

	for (i = 0; i < pool->worker_count; i++) {
		struct worker *worker = &pool->workers[i];

		if (worker->is_large && !reader_is_busy(worker->reader)) {
			reader_end(worker->reader);
			worker->is_large = false;
		}
	}
}

bool compile_pool_next(struct compile_pool *pool, uint64_t until_ns, struct compile_result *out)
{
	for (;;) {
		const uint64_t now_ns = clock_now_ns();

		if (look(pool, out) || hand_out(pool, out))
			return true;
		if (!has_jobs(pool)) {
			end_large(pool);
			return false;
		}
		ease_slow(pool, now_ns);
		if (now_ns >= until_ns)
			return false;
		wait_until(pool, until_ns);
	}
}
