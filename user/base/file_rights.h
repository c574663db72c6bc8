/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_rights.h - whose a file is that we made, and who else may read it. What a profile shows of other people's programs,
 * and where they lie in memory, is nobody's business who is not asked for: it is its owner's alone.
 */
#ifndef GECKOBPF_BASE_FILE_RIGHTS_H
#define GECKOBPF_BASE_FILE_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Of every file while it is made, and of those that are whole unless something else is asked for. */
#define FILE_RIGHTS_MODE 0600

struct file_rights {
	mode_t mode; /* whatever the umask is; 0: FILE_RIGHTS_MODE */
	bool has_owner; /* another than the one that makes it */
	uid_t uid;
	gid_t gid;
};

/* Some file systems have no owners, or no modes; then they stay as they are, for the file is worth more. */
void file_rights_give(const struct file_rights *rights, int fd);

#endif
