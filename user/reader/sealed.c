/* SPDX-License-Identifier: BSD-2-Clause */
/* sealed.c - see sealed.h. */
#include "reader/sealed.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static int write_parts(int fd, const struct sealed_part *parts, size_t count)
{
	static const char padding[8];
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		err = fd_write_all(fd, parts[i].data, parts[i].bytes);
		if (!err)
			err = fd_write_all(fd, padding,
					   sealed_room(parts[i].bytes) - parts[i].bytes);
	}
	return err;
}

int sealed_make(const struct sealed_part *parts, size_t count)
{
	int fd = memfd_create("geckobpf", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = write_parts(fd, parts, count);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS))
		err = -errno;
	if (err)
		fd_close(&fd);
	return err ? err : fd;
}

int sealed_map(int fd, size_t max_bytes, const void **data, size_t *bytes)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_WRITE, seals = fcntl(fd, F_GET_SEALS);
	struct stat status;
	void *memory;

	if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &status) || status.st_size <= 0)
		return -EBADMSG;
	if ((uint64_t)status.st_size > max_bytes)
		return -EFBIG;
	/* Private: before 6.7 a sealed file could not be mapped otherwise. */
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*data = memory;
	*bytes = (size_t)status.st_size;
	return 0;
}

bool sealed_takes_most(int fd, uint64_t max_bytes)
{
	struct stat status;

	return fcntl(fd, F_GET_SEALS) == SEALS && !fstat(fd, &status) &&
	       (uint64_t)status.st_blocks <= max_bytes / 512;
}

void sealed_unmap(const void *data, size_t bytes)
{
	if (data)
		munmap((void *)data, bytes);
}
