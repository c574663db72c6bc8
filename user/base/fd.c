/* SPDX-License-Identifier: BSD-2-Clause */
/* fd.c - see fd.h. */
#include "base/fd.h"
#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int read_to_end(int fd, size_t max_bytes, char **text, size_t *length)
{
	size_t capacity = 0, used = 0;
	char *data = NULL;
	ssize_t got;
	int err;

	do {
		err = array_reserve((void **)&data, &capacity, used + 4096, 1);
		if (err)
			goto fail;
		got = read(fd, data + used, capacity - used - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			err = -errno;
			goto fail;
		}
		used += (size_t)got;
	} while (got != 0 && used < max_bytes);
	used = used < max_bytes ? used : max_bytes;
	data[used] = '\0';
	*text = data;
	*length = used;
	return 0;
fail:
	free(data);
	return err;
}

int fd_read_most(const char *path, size_t max_bytes, char **text, size_t *length)
{
	size_t ignored;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_to_end(fd, max_bytes, text, length ? length : &ignored);
	close(fd);
	return err;
}

int fd_read_file(const char *path, char **text, size_t *length)
{
	return fd_read_most(path, SIZE_MAX, text, length);
}

int fd_read_start(const char *path, char *text, size_t size, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t got = 1;

	*length = 0;
	if (fd < 0)
		return -errno;
	while (got && *length < size && !err) {
		got = read(fd, text + *length, size - *length);
		if (got < 0 && errno != EINTR)
			err = -errno;
		if (got > 0)
			*length += (size_t)got;
	}
	close(fd);
	return err;
}

int fd_pread_all(int fd, void *data, size_t size, off_t offset)
{
	char *next = data;

	while (size) {
		ssize_t got = pread(fd, next, size, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		next += got;
		offset += got;
		size -= (size_t)got;
	}
	return 0;
}

int fd_write_all(int fd, const void *data, size_t size)
{
	const char *next = data;

	while (size) {
		ssize_t put = write(fd, next, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		next += put;
		size -= (size_t)put;
	}
	return 0;
}

void fd_open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	fd_close(&fd);
}

void fd_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}
