/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables compiled side by side: the same as one by one, whatever the order and however many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/compile_pool.h"

#include "alloc.h"

#define JOBS 24

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void assert_same(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->row_count, b->row_count);
	assert_int_equal(a->page_count, b->page_count);
	assert_int_equal(a->rule_count, b->rule_count);
	assert_memory_equal(a->rows, b->rows, a->row_count * sizeof(*a->rows));
	assert_memory_equal(a->pages, b->pages, a->page_count * sizeof(*a->pages));
	assert_memory_equal(a->rules, b->rules, a->rule_count * sizeof(*a->rules));
}

/* Every third job is no ELF file; sizes differ, so that the order changes. */
static void many_jobs(void **state)
{
	struct compile_job jobs[JOBS] = {0};
	struct unwind_table *alone;
	int self = open_self(), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool seen[JOBS] = {false};
	uint32_t i;

	assert_int_equal(unwind_table_compile(&alone, &(struct unwind_source){.fd = self}), 0);
	for (i = 0; i < JOBS; i++)
		jobs[i] = (struct compile_job){
			.source.fd = i % 3 ? self : null,
			.tag = i,
			.bytes = (i * 7 % JOBS) * 100000,
		};
	compile_pool_run(jobs, JOBS);
	for (i = 0; i < JOBS; i++) {
		assert_false(seen[jobs[i].tag]);
		seen[jobs[i].tag] = true;
		assert_true(i == 0 || jobs[i - 1].bytes >= jobs[i].bytes);
		if (jobs[i].tag % 3) {
			assert_int_equal(jobs[i].error, 0);
			assert_same(jobs[i].table, alone);
		} else {
			assert_int_equal(jobs[i].error, -ENOEXEC);
			assert_null(jobs[i].table);
		}
		unwind_table_close(jobs[i].table);
	}
	unwind_table_close(alone);
	close(self);
	close(null);
}

/* One that goes before others, but not what it starts: its helpers do as well, or there are none. */
static void for_a_raised_thread(void **state)
{
	const struct sched_param usual = {0}, lowest = {.sched_priority = 1};

	if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest))
		many_jobs(state);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &usual), 0);
	many_jobs(state);
}

static void one_job_and_none(void **state)
{
	struct compile_job job = {.source.fd = open_self(), .bytes = 1};

	compile_pool_run(NULL, 0);
	compile_pool_run(&job, 1);
	assert_int_equal(job.error, 0);
	assert_true(job.table->row_count > 0);
	unwind_table_close(job.table);
	close(job.source.fd);
}

/* A job whose memory runs out says so; the others are not harmed. */
static void failing_allocations(void **state)
{
	struct compile_job job = {.source.fd = open_self()};
	unsigned long n;

	for (n = 1;; n++) {
		alloc_fail_at(n);
		compile_pool_run(&job, 1);
		alloc_fail_stop();
		if (!job.error)
			break;
		assert_int_equal(job.error, -ENOMEM);
		assert_null(job.table);
	}
	assert_true(n > 1);
	unwind_table_close(job.table);
	close(job.source.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_jobs),
		cmocka_unit_test(for_a_raised_thread),
		cmocka_unit_test(one_job_and_none),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
