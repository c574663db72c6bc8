/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_view.h - who sees what under a path: processes with the same root directory in the same mount namespace see the
 * same files, and those of one account can do to each other what they like.
 */
#ifndef GECKOBPF_TARGET_OBJECT_VIEW_H
#define GECKOBPF_TARGET_OBJECT_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* To be compared as bytes: it has no padding. */
struct object_view {
	uint64_t mounts; /* the namespace; 0: not known, the process is gone */
	uint64_t root_device, root_inode;
	uint64_t account;
};

/* Of the process that has the pid now. Nothing is asked that could wait for it, or for a file system. */
struct object_view object_view_of(pid_t pid);

/* Whether paths mean the same in both, which are known. */
bool object_view_same_files(const struct object_view *a, const struct object_view *b);

#endif
