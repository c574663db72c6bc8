/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * apart.c - apart ROUNDS FILE...: what it costs that unwind tables are compiled by other processes. Each round compiles those of
 * all files, one after the other here, and then with a pool of parsers, that has been started before.
 *
 * Prints "name number" lines on stderr, the median of the rounds each: here_ms, parsers_ms (from the first request to the last
 * table).
 */
#include "base/clock.h"
#include "capture/compile_pool.h"
#include "service/service.h"
#include "unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure.h"

#define MAX_ROUNDS 100
#define MAX_FILES 64
#define LONG_NS (20 * NS_PER_SEC)

struct files {
	struct compile_job jobs[MAX_FILES];
	uint32_t count;
};

static int open_files(struct files *files, char **paths)
{
	struct stat status;
	int fd;

	for (; *paths && files->count < MAX_FILES; paths++, files->count++) {
		fd = open(*paths, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &status))
			return -errno;
		files->jobs[files->count] = (struct compile_job){
			.fd = fd, .tag = files->count, .bytes = (uint64_t)status.st_size};
	}
	return 0;
}

static int compile_here(const struct files *files)
{
	struct unwind_table *table;
	uint32_t i;
	int err = 0;

	for (i = 0; i < files->count && !err; i++) {
		err = unwind_table_compile(&table,
					   &(struct unwind_source){.fd = files->jobs[i].fd});
		if (!err)
			unwind_table_close(table);
	}
	return err;
}

static int compile_apart(const struct files *files, struct compile_pool *pool)
{
	const uint64_t until_ns = clock_now_ns() + LONG_NS;
	struct compile_result result;
	uint32_t i;
	int err = 0;

	for (i = 0; i < files->count && !err; i++)
		err = compile_pool_add(pool, &files->jobs[i]);
	for (i = 0; i < files->count && !err; i++) {
		if (!compile_pool_next(pool, until_ns, &result))
			return -ETIMEDOUT;
		err = result.error;
		if (!err)
			table_close(&result.made);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static void print_median(const char *name, double *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare);
	print(name, numbers[count / 2]);
}

static int run(size_t rounds, const struct files *files)
{
	double here_ms[MAX_ROUNDS], parsers_ms[MAX_ROUNDS];
	struct compile_pool *pool;
	uint64_t start_ns;
	size_t i;
	/* The first time its parsers begin, and the files come from the disk. */
	int err = compile_pool_open(&pool);

	if (err)
		return err;
	err = compile_apart(files, pool);
	for (i = 0; i < rounds && !err; i++) {
		start_ns = clock_now_ns();
		err = compile_here(files);
		here_ms[i] = (double)(clock_now_ns() - start_ns) / 1e6;
		start_ns = clock_now_ns();
		err = err ? err : compile_apart(files, pool);
		parsers_ms[i] = (double)(clock_now_ns() - start_ns) / 1e6;
	}
	compile_pool_close(pool);
	if (err)
		return err;
	print_median("here_ms", here_ms, rounds);
	print_median("parsers_ms", parsers_ms, rounds);
	return 0;
}

int main(int argc, char **argv)
{
	const size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct files files = {0};
	int err;

	service_main(argc, argv);
	err = rounds && rounds <= MAX_ROUNDS ? open_files(&files, argv + 2) : -EINVAL;
	err = err ? err : run(rounds, &files);
	if (!err)
		return 0;
	fprintf(stderr, "apart: %s\n", strerror(-err));
	return 1;
}
