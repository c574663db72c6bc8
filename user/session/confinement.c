/* SPDX-License-Identifier: BSD-2-Clause */
/* confinement.c - see confinement.h. */
#include "session/confinement.h"

#include "base/error.h"
#include "base/log.h"
#include "base/naming.h"
#include "capture/confine.h"
#include "format/spool.h"
#include "session/state.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without a capability; of its group nothing is asked. */
static bool may_write_to(const char *directory)
{
	struct stat at;

	if (stat(directory, &at))
		return true; /* with one it is not there either */
	return at.st_uid == geteuid() ? at.st_mode & S_IWUSR : at.st_mode & S_IWOTH;
}

static bool may_write_beside(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char directory[PATH_MAX];

	if (path && naming_is_direct(path))
		return true;
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	return may_write_to(directory);
}

static unsigned int uses(const struct session *session)
{
	unsigned int uses = 0;

	if (session->account.is_set)
		uses |= CONFINE_GIVES_FILES;
	if (session->account.is_set && session->command)
		uses |= CONFINE_SIGNALS_OTHERS;
	if (!may_write_beside(session->config->output) || !may_write_to(spool_directory()))
		uses |= CONFINE_WRITES_ANYWHERE;
	return uses;
}

int confinement_begin(struct session *session, struct error *error)
{
	int err = confine_rights(uses(session));

	if (err)
		return error_set(error, err, "capabilities",
				 "those that are not needed cannot be given up: %s",
				 strerror(-err));
	err = confine_calls();
	if (err)
		log_debug("seccomp: system calls are not refused: %s", strerror(-err));
	return 0;
}
