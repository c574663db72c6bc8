/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole-file reads and writes: every size around the buffer's, short writes, errors, no descriptor left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"

#include "alloc.h"
#include "child.h"

static char path[] = "/tmp/test_fd.XXXXXX";

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static char byte_at(size_t position)
{
	return (char)(position * 31 + position / 256);
}

static void write_bytes(size_t size)
{
	char *bytes = malloc(size + 1);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	size_t i;

	assert_non_null(bytes);
	assert_true(fd >= 0);
	for (i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	assert_int_equal(fd_write_all(fd, bytes, size), 0);
	close(fd);
	free(bytes);
}

static size_t count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void test_reads_all_sizes(void **state)
{
	static const size_t sizes[] = {0, 1, 4094, 4095, 4096, 4097, 8191, 8192, 100000};
	size_t i, k, length;
	char *text;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_bytes(sizes[i]);
		length = SIZE_MAX;
		assert_int_equal(fd_read_file(path, &text, &length), 0);
		assert_int_equal(length, sizes[i]);
		assert_int_equal(text[length], '\0');
		for (k = 0; k < length; k++)
			if (text[k] != byte_at(k))
				fail_msg("byte %zu of %zu", k, length);
		free(text);
	}
}

/* Files in /proc say that they are empty. */
static void test_reads_proc(void **state)
{
	char *text;

	assert_int_equal(fd_read_file("/proc/self/stat", &text, NULL), 0);
	assert_int_equal(strtol(text, NULL, 10), getpid());
	free(text);
}

static void test_read_errors(void **state)
{
	char *text = path;
	size_t length = 7, before = count_descriptors();

	assert_int_equal(fd_read_file("/nonexistent/file", &text, &length), -ENOENT);
	assert_int_equal(fd_read_file("/tmp", &text, &length), -EISDIR);
	assert_ptr_equal(text, path);
	assert_int_equal(length, 7);
	assert_int_equal(count_descriptors(), before);
}

static int read_it(void *context)
{
	char *text = NULL;
	int err = fd_read_file(path, &text, NULL);

	free(text);
	return err;
}

static void test_read_no_memory(void **state)
{
	size_t before = count_descriptors();

	write_bytes(20000);
	assert_true(alloc_fail_each(read_it, NULL) >= 3);
	assert_int_equal(count_descriptors(), before);
}

static void test_pread_all(void **state)
{
	char bytes[64];
	size_t i;
	int fd;

	write_bytes(100);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_pread_all(fd, bytes, 64, 36), 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(bytes[i], byte_at(36 + i));
	assert_int_equal(fd_pread_all(fd, bytes, 64, 37), -ENODATA);
	assert_int_equal(fd_pread_all(fd, bytes, 1, 100), -ENODATA);
	assert_int_equal(fd_pread_all(fd, bytes, 0, 100), 0);
	assert_int_equal(fd_pread_all(fd, bytes, 1, -1), -EINVAL);
	close(fd);
	assert_int_equal(fd_pread_all(-1, bytes, 1, 0), -EBADF);
}

/* write(2) takes as much as the limit allows, and only then fails. */
static int write_over_limit(void *context)
{
	const struct rlimit limit = {.rlim_cur = 5000, .rlim_max = 5000};
	static char bytes[8000];
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	signal(SIGXFSZ, SIG_IGN);
	if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	return fd_write_all(fd, bytes, sizeof(bytes)) == -EFBIG && lseek(fd, 0, SEEK_END) == 5000
		       ? 0
		       : 2;
}

static void test_short_write(void **state)
{
	assert_int_equal(in_child(write_over_limit, NULL), 0);
}

static void test_write_errors(void **state)
{
	int fds[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	assert_true(full >= 0);
	assert_int_equal(fd_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(fd_write_all(full, "", 0), 0);
	close(full);
	assert_int_equal(fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fd_write_all(fds[1], "x", 1), -EPIPE);
	signal(SIGPIPE, SIG_DFL);
	close(fds[1]);
}

static void test_close(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), number = fd;

	assert_true(fd >= 0);
	errno = EXDEV;
	fd_close(&fd);
	assert_int_equal(fd, -1);
	assert_int_equal(fcntl(number, F_GETFD), -1);
	errno = EXDEV;
	fd_close(&fd);
	assert_int_equal(fd, -1);
	fd = 1000000; /* close(2) fails, errno stays */
	fd_close(&fd);
	assert_int_equal(errno, EXDEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_all_sizes), cmocka_unit_test(test_reads_proc),
		cmocka_unit_test(test_read_errors),     cmocka_unit_test(test_read_no_memory),
		cmocka_unit_test(test_pread_all),       cmocka_unit_test(test_short_write),
		cmocka_unit_test(test_write_errors),    cmocka_unit_test(test_close),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
