/* SPDX-License-Identifier: BSD-2-Clause */
/* output_rights.c - see output_rights.h. */
#include "session/output_rights.h"

#include "target/account.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool stat_directory_of(const char *path, struct stat *at)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];
	int got = slash ? snprintf(directory, sizeof(directory), "%.*s/", (int)(slash - path), path)
			: snprintf(directory, sizeof(directory), ".");

	return got > 0 && (size_t)got < sizeof(directory) && !stat(directory, at);
}

struct file_rights output_rights(const char *path, mode_t mode)
{
	struct file_rights rights = {.mode = mode};
	struct account account;
	struct stat at;

	account_invoking_user(&account);
	if (!account.is_set || !stat_directory_of(path, &at) || !account_may_write(&account, &at))
		return rights;
	rights.has_owner = true;
	rights.uid = account.uid;
	rights.gid = account.gid;
	return rights;
}
