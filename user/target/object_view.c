/* SPDX-License-Identifier: BSD-2-Clause */
/* object_view.c - see object_view.h. */
#include "target/object_view.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool look(pid_t pid, const char *name, struct statx *status)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d%s", (int)pid, name);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_UID, status);
}

struct object_view object_view_of(pid_t pid)
{
	struct statx process, mounts, root;

	if (pid <= 0 || !look(pid, "", &process) || !look(pid, "/ns/mnt", &mounts) ||
	    !look(pid, "/root", &root))
		return (struct object_view){0};
	return (struct object_view){
		.mounts = mounts.stx_ino,
		.root_device = makedev(root.stx_dev_major, root.stx_dev_minor),
		.root_inode = root.stx_ino,
		.account = process.stx_uid,
	};
}

bool object_view_same_files(const struct object_view *a, const struct object_view *b)
{
	return a->mounts == b->mounts && a->root_device == b->root_device &&
	       a->root_inode == b->root_inode;
}
