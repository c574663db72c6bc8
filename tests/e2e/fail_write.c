/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fail_write.c - a library to preload: a disk that fails, or stands still, at a chosen byte, or is slow.
 *
 *   FAIL_WRITE_PATH    a part of the file's path; other files are not touched
 *   FAIL_WRITE_AFTER   how many bytes are written before
 *   FAIL_WRITE_ERRNO   the error from then on; 0: the process stops itself there, once, until SIGCONT
 *   FAIL_WRITE_US      how long each write takes, in microseconds
 *   FAIL_WRITE_SAY     if set, says at the start that it is there
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static size_t written;
static int is_over;

static size_t number_of(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void say(void)
{
	if (getenv("FAIL_WRITE_SAY"))
		fprintf(stderr, "fail_write is there\n");
}

static int is_chosen(int fd)
{
	const char *part = getenv("FAIL_WRITE_PATH");
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (!part || length < 0)
		return 0;
	path[length] = '\0';
	return strstr(path, part) != NULL;
}

static void take_time(void)
{
	const size_t us = number_of("FAIL_WRITE_US");
	const struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};

	if (us)
		nanosleep(&time, NULL);
}

/* How many of `size` bytes may be written; -1: none, errno is set. */
static ssize_t allow(int fd, size_t size)
{
	size_t after = number_of("FAIL_WRITE_AFTER");
	int error = (int)number_of("FAIL_WRITE_ERRNO");

	if (!size || is_over || !is_chosen(fd))
		return (ssize_t)size;
	take_time();
	if (written < after)
		size = size < after - written ? size : after - written;
	else if (error) {
		errno = error;
		return -1;
	} else {
		is_over = 1;
		raise(SIGSTOP);
	}
	written += size;
	return (ssize_t)size;
}

ssize_t write(int fd, const void *data, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);
	ssize_t allowed = allow(fd, size);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	return allowed < 0 ? -1 : next(fd, data, (size_t)allowed);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	static ssize_t (*next)(int, const void *, size_t, off_t);
	ssize_t allowed = allow(fd, size);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
	return allowed < 0 ? -1 : next(fd, data, (size_t)allowed, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset)
{
	return pwrite(fd, data, size, offset);
}

/* Part of it, which writev(2) may do. */
ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	return count > 0 ? write(fd, pieces->iov_base, pieces->iov_len) : 0;
}
