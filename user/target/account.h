/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * account.h - the user that called sudo, who is to run commands and own files. Reads /etc itself,
 * so it links statically.
 */
#ifndef GECKOBPF_TARGET_ACCOUNT_H
#define GECKOBPF_TARGET_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

struct stat;

#define ACCOUNT_MAX_GROUPS 256

struct account {
	bool is_set; /* false: we were not started by sudo; the rest is meaningless */
	uid_t uid;
	gid_t gid;
	char name[64]; /* "" if not known */
	char home[256];
	gid_t groups[ACCOUNT_MAX_GROUPS];
	size_t group_count;
};

/* Reads SUDO_UID, SUDO_GID and SUDO_USER, which count only where we run as root. */
void account_invoking_user(struct account *out);

/* Whether that user may make files in a directory, or could see to it: it is theirs. */
bool account_may_write(const struct account *account, const struct stat *directory);

/* Becomes that user for good, with HOME, USER and LOGNAME. 0 or -errno. */
int account_become(const struct account *account);

#endif
