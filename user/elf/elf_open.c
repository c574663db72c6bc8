/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_open.c - see elf_open.h. */
#include "elf/elf_open.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the path leads, not opened. */
static int find(const char *root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT,
	};
	int dir, fd;

	if (!root)
		return open(path, (int)how.flags);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	/* Linux before 5.6, or a seccomp filter of that age. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(dir, path + strspn(path, "/"), (int)how.flags);
	fd_close(&dir);
	return fd;
}

/* The file at `place`, which is a descriptor without rights to it. */
static int open_regular(int place)
{
	char name[32];
	struct stat status;
	int fd;

	if (fstat(place, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_here(const char *root, const char *path)
{
	int place = find(root, path), fd;

	if (place < 0)
		return -errno;
	fd = open_regular(place);
	fd_close(&place);
	return fd;
}

static const struct elf_door by_itself, *door = &by_itself;

void elf_open_through(const struct elf_door *other)
{
	door = other ? other : &by_itself;
}

const struct elf_door *elf_door(void)
{
	return door;
}

int elf_open_path(const char *root, const char *path)
{
	return door->open ? door->open(door->context, root, path) : open_here(root, path);
}

int elf_read_proc(pid_t pid, const char *name, size_t max_bytes, char **text, size_t *length)
{
	char path[80];

	if (door->read_proc)
		return door->read_proc(door->context, pid, name, max_bytes, text, length);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fd_read_most(path, max_bytes, text, length);
}

int elf_open_mapped(pid_t pid, uint64_t start, uint64_t end)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		 end);
	return elf_open_path(NULL, path);
}

int elf_open_as_seen(pid_t pid, const char *path)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	return elf_open_path(root, path);
}
