/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spender.c - spender FILE: has page faults, waits, gives its CPU up, writes 16 MiB to FILE and reads 8 MiB of it from the
 * disk, half of it all in a second thread.
 *
 * It prints "at NAME FAULTS VOLUNTARY INVOLUNTARY READ WRITTEN", what the kernel has counted of the process so far, as "begin"
 * and as "end".
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "target.h"

#define PAGES 4096
#define SWITCHES 200
#define BLOCK (1UL << 20)
#define BLOCKS_WRITTEN 8
#define BLOCKS_READ 4

static const char *path;
static volatile uint64_t sink;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void say(const char *name)
{
	unsigned long long read_bytes, write_bytes;
	char text[512] = {0}, *at;
	struct rusage used;
	FILE *file = fopen("/proc/self/io", "r");

	if (!file || !fread(text, 1, sizeof(text) - 1, file))
		fail("/proc/self/io");
	fclose(file);
	at = strstr(text, "\nread_bytes");
	if (!at ||
	    sscanf(at, "\nread_bytes: %llu write_bytes: %llu", &read_bytes, &write_bytes) != 2)
		fail("/proc/self/io");
	getrusage(RUSAGE_SELF, &used);
	printf("at %s %ld %ld %ld %llu %llu\n", name, used.ru_minflt, used.ru_nvcsw, used.ru_nivcsw,
	       read_bytes, write_bytes);
	fflush(stdout);
}

static void touch_pages(void)
{
	const size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	munmap(memory, bytes);
}

static void use_file(size_t number)
{
	char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	off_t at = (off_t)(number * BLOCKS_WRITTEN * BLOCK);
	size_t i;

	if (fd < 0 || block == MAP_FAILED)
		fail(path);
	memset(block, 1, BLOCK);
	for (i = 0; i < BLOCKS_WRITTEN; i++)
		if (pwrite(fd, block, BLOCK, at + (off_t)(i * BLOCK)) != (ssize_t)BLOCK)
			fail(path);
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fail(path);
	for (i = 0; i < BLOCKS_READ; i++)
		if (pread(fd, block, BLOCK, at + (off_t)(i * BLOCK)) != (ssize_t)BLOCK)
			fail(path);
	close(fd);
	munmap(block, BLOCK);
}

static void spend(size_t number)
{
	uint64_t x = 1;
	int i;

	touch_pages();
	for (i = 0; i < SWITCHES; i++) {
		WORK(x);
		sleep_ns(NS_PER_MS / 10);
		sched_yield();
	}
	sink = x;
	use_file(number);
}

static void *run_thread(void *unused)
{
	spend(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2) {
		fprintf(stderr, "usage: spender FILE\n");
		return 2;
	}
	path = argv[1];
	say_ready();
	say("begin");
	spend(0);
	if (pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL))
		fail("pthread");
	say("end");
	return 0;
}
