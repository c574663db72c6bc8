/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remapper.c - remapper KIND COUNT [RATE [DIRECTORY]]: maps pages as code, COUNT of them, RATE a second (as fast as it goes), in a way
 * that costs whoever keeps account of them the most; prints "mapped COUNT", and works in remapper_work() until it is killed.
 *
 * Begins after a line (or the end) on stdin, so that a profiler can be there first.
 *
 * KIND  anew    memory of no file, each page at an address where nothing was before, unmapped at once
 *       file    the same with a page of this program
 *       turns   two pages of this program, by turns at one address
 *       same    one page of this program at one address
 *       files   a page of each of the files 0, 1, 2, ... of DIRECTORY
 *       many    pages of this program that all stay; then 20 children, each of which maps one more
 */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "target.h"

#define PAGE 4096UL
#define FIRST 0x100000000000UL
#define CHILDREN 20
#define CHILD_NS (20 * NS_PER_MS)

struct kind {
	const char *name;
	bool has_file, moves, takes_turns, stays, has_files;
};

static const struct kind kinds[] = {
	{.name = "anew", .moves = true},
	{.name = "file", .has_file = true, .moves = true},
	{.name = "turns", .has_file = true, .takes_turns = true},
	{.name = "same", .has_file = true},
	{.name = "files", .has_file = true, .moves = true, .has_files = true},
	{.name = "many", .has_file = true, .moves = true, .stays = true},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static volatile uint64_t sink;

static void remapper_work(uint64_t until_ns)
{
	uint64_t x = 1;

	while (cpu_ns() < until_ns)
		WORK(x);
	sink = x;
}

static int open_file(const char *directory, uint64_t number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%llu", directory, (unsigned long long)number);
	return open(path, O_RDONLY);
}

static bool map(const struct kind *kind, int fd, uint64_t number)
{
	void *at = (void *)(FIRST + (kind->moves ? number * 2 * PAGE : 0));
	const off_t offset = kind->takes_turns && number % 2 ? (off_t)PAGE : 0;

	if (mmap(at, PAGE, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_FIXED | (kind->has_file ? 0 : MAP_ANONYMOUS),
		 kind->has_file ? fd : -1, offset) == MAP_FAILED)
		return false;
	return kind->stays || !munmap(at, PAGE);
}

static void fork_them(const struct kind *kind, int fd, uint64_t count)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (!child) {
			map(kind, fd, count);
			remapper_work(CHILD_NS);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const uint64_t count = (uint64_t)number_argument(argc, argv, 2, 1000);
	const double rate = number_argument(argc, argv, 3, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	const struct kind *kind = kinds;
	uint64_t start, i;

	while (argc > 1 && kind < kinds + KINDS - 1 && strcmp(kind->name, argv[1]))
		kind++;
	say_ready();
	(void)getchar();
	for (i = 0, start = now_ns(); i < count; i++) {
		if (rate > 0 && i % 100 == 0)
			sleep_until_ns(start + (uint64_t)((double)i * 1e9 / rate));
		if (kind->has_files) {
			close(fd);
			fd = open_file(argv[4], i);
		}
		if (!map(kind, fd, i)) {
			perror("mmap");
			return 1;
		}
	}
	if (kind->stays)
		fork_them(kind, fd, count);
	printf("mapped %llu\n", (unsigned long long)count);
	fflush(stdout);
	remapper_work(UINT64_MAX);
	return 0;
}
