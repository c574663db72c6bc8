/* SPDX-License-Identifier: BSD-2-Clause */
/* account.c - see account.h. */
#include "target/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool number_from_env(const char *name, unsigned int *out)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= (unsigned int)-1)
		return false;
	*out = (unsigned int)value;
	return true;
}

static void look_up_home(struct account *account)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;

	while (file && (entry = fgetpwent(file))) {
		if (entry->pw_uid != account->uid)
			continue;
		snprintf(account->name, sizeof(account->name), "%s", entry->pw_name);
		snprintf(account->home, sizeof(account->home), "%s", entry->pw_dir);
		break;
	}
	if (file)
		fclose(file);
}

static bool has_member(const struct group *group, const char *name)
{
	char **member;

	for (member = group->gr_mem; *member; member++)
		if (!strcmp(*member, name))
			return true;
	return false;
}

static void look_up_groups(struct account *account)
{
	FILE *file = fopen("/etc/group", "re");
	struct group *entry;

	account->groups[account->group_count++] = account->gid;
	while (file && account->group_count < ACCOUNT_MAX_GROUPS && (entry = fgetgrent(file)))
		if (account->name[0] && has_member(entry, account->name))
			account->groups[account->group_count++] = entry->gr_gid;
	if (file)
		fclose(file);
}

void account_invoking_user(struct account *out)
{
	*out = (struct account){0};
	if (geteuid() || !number_from_env("SUDO_UID", &out->uid) ||
	    !number_from_env("SUDO_GID", &out->gid))
		return;
	out->is_set = true;
	look_up_home(out);
	look_up_groups(out);
}

bool account_may_write(const struct account *account, const struct stat *directory)
{
	size_t i;

	if (!account->uid || directory->st_uid == account->uid)
		return true;
	for (i = 0; i < account->group_count; i++)
		if (directory->st_gid == account->groups[i])
			return directory->st_mode & S_IWGRP;
	return directory->st_mode & S_IWOTH;
}

int account_become(const struct account *account)
{
	if (setgroups(account->group_count, account->groups) || setgid(account->gid) ||
	    setuid(account->uid))
		return -errno;
	if (account->home[0] && setenv("HOME", account->home, 1))
		return -errno;
	if (account->name[0] &&
	    (setenv("USER", account->name, 1) || setenv("LOGNAME", account->name, 1)))
		return -errno;
	return 0;
}
