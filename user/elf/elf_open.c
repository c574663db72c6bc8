/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_open.c - see elf_open.h. */
#include "elf/elf_open.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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

/*
 * Whether a file may be the one at `place`. A file system of many parts tells other numbers of its devices by stat(2) than where
 * it is mapped; all of them have no disk, major number 0.
 */
static bool may_be_at(const struct statx *status, const struct elf_place *place)
{
	if (!place->device && !place->inode)
		return true;
	return status->stx_ino == place->inode &&
	       (makedev(status->stx_dev_major, status->stx_dev_minor) == place->device ||
		!major(place->device));
}

/* The file that `found` is, which is a descriptor without rights to it. */
static int open_regular(int found, const struct elf_place *place)
{
	char name[32];
	struct statx status;
	int fd;

	/* What is known here and now: to ask a server may take for ever. */
	if (statx(found, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status))
		return -errno;
	if (!S_ISREG(status.stx_mode))
		return -ENOEXEC;
	if (!may_be_at(&status, place))
		return -ENOENT;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_here(const char *root, const char *path, const struct elf_place *place)
{
	int found = find(root, path), fd;

	if (found < 0)
		return -errno;
	fd = open_regular(found, place);
	fd_close(&found);
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

int elf_open_place(const char *root, const char *path, const struct elf_place *place)
{
	return door->open ? door->open(door->context, root, path, place)
			  : open_here(root, path, place);
}

int elf_open_path(const char *root, const char *path)
{
	return elf_open_place(root, path, &(struct elf_place){0});
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

int elf_open_as_seen(pid_t pid, const char *path, const struct elf_place *place)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	return elf_open_place(root, path, place);
}
