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
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct elf_door by_itself, *door = &by_itself;

void elf_open_through(const struct elf_door *other)
{
	door = other ? other : &by_itself;
}

const struct elf_door *elf_door(void)
{
	return door;
}

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

static uint64_t in_ns(const struct statx_timestamp *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

bool file_status_read(int fd, struct file_status *status)
{
	struct statx known;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID,
		  &known))
		return false;
	*status = (struct file_status){
		.device = makedev(known.stx_dev_major, known.stx_dev_minor),
		.inode = known.stx_ino,
		.bytes = known.stx_size,
		.written_ns = in_ns(&known.stx_mtime),
		.changed_ns = in_ns(&known.stx_ctime),
		.mount = known.stx_mask & STATX_MNT_ID ? known.stx_mnt_id : 0,
		.owner = known.stx_uid,
		.links = known.stx_nlink,
		.is_guarded = !(known.stx_mode & (S_IWGRP | S_IWOTH)),
	};
	return S_ISREG(known.stx_mode);
}

/*
 * Whether a file may be the one at `place`. A file system of many parts tells other numbers of its devices by stat(2) than where
 * it is mapped; all of them have no disk, major number 0.
 */
static bool may_be_at(const struct file_status *status, const struct elf_place *place)
{
	if (!place->device && !place->inode)
		return true;
	return status->inode == place->inode &&
	       (status->device == place->device || !major(place->device));
}

/* The file that `found` is, which is a descriptor without rights to it. */
static int open_regular(int found, const struct elf_place *place, struct file_status *status)
{
	char name[32];
	int fd = 0;

	if (!file_status_read(found, status))
		return -ENOEXEC;
	if (!may_be_at(status, place))
		return -ENOENT;
	if (door->may_open)
		fd = door->may_open(door->context, found, status);
	if (fd)
		return fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_here(const char *root, const char *path, const struct elf_place *place,
		     struct file_status *status)
{
	int found = find(root, path), fd;

	if (found < 0)
		return -errno;
	fd = open_regular(found, place, status);
	fd_close(&found);
	return fd;
}

int elf_open_place(const char *root, const char *path, const struct elf_place *place,
		   struct file_status *status)
{
	return door->open ? door->open(door->context, root, path, place, status)
			  : open_here(root, path, place, status);
}

int elf_open_path(const char *root, const char *path)
{
	struct file_status status;

	return elf_open_place(root, path, &(struct elf_place){0}, &status);
}

int elf_read_proc(pid_t pid, const char *name, size_t max_bytes, char **text, size_t *length)
{
	char path[80];

	if (door->read_proc)
		return door->read_proc(door->context, pid, name, max_bytes, text, length);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fd_read_most(path, max_bytes, text, length);
}

int elf_open_mapped(pid_t pid, uint64_t start, uint64_t end, struct file_status *status)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start,
		 end);
	return elf_open_place(NULL, path, &(struct elf_place){0}, status);
}

int elf_open_as_seen(pid_t pid, const char *path, const struct elf_place *place,
		     struct file_status *status)
{
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	return elf_open_place(root, path, place, status);
}
