/* SPDX-License-Identifier: BSD-2-Clause */
/* file_rights.c - see file_rights.h. */
#include "base/file_rights.h"

#include <sys/stat.h>
#include <unistd.h>

void file_rights_give(const struct file_rights *rights, int fd)
{
	if (rights->mode)
		(void)!fchmod(fd, rights->mode);
	if (rights->has_owner)
		(void)!fchown(fd, rights->uid, rights->gid);
}
