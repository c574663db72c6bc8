/* SPDX-License-Identifier: BSD-2-Clause */
/* fd.h - whole-file reads and writes that finish or fail. */
#ifndef GECKOBPF_BASE_FD_H
#define GECKOBPF_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads all of `path` (a /proc file has no size) into *text, NUL-terminated, the caller's to free. *length, if not
 * NULL, excludes the NUL. 0 or -errno.
 */
int fd_read_file(const char *path, char **text, size_t *length);
/* The same of its first `max_bytes`. */
int fd_read_most(const char *path, size_t max_bytes, char **text, size_t *length);
/* Reads the first `size` bytes of `path` into `text`, *length of them if it has less. No NUL is added. 0 or -errno. */
int fd_read_start(const char *path, char *text, size_t size, size_t *length);

/* Reads exactly `size` bytes at `offset`. 0, -errno, or -ENODATA at the end of the file. */
int fd_pread_all(int fd, void *data, size_t size, off_t offset);

/* Writes all of it, whatever write(2) takes at a time. 0 or -errno. */
int fd_write_all(int fd, const void *data, size_t size);

/* Whoever started us may have closed descriptors 0 to 2; then they are /dev/null, so that no file of ours has such a number. */
void fd_open_standard(void);

/* close(2) unless *fd < 0, then *fd = -1. errno is kept. */
void fd_close(int *fd);

#endif
