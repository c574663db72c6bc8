/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c - see start.h.
 *
 * It is another program image, not a fork: it has neither our memory nor our addresses.
 */
#include "reader/start.h"

#include "base/fd.h"
#include "reader/hurry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROGRAM "/proc/self/exe"

/* What a sanitizer finds is to be seen. */
#ifdef GECKOBPF_SANITIZED
#define LAST_SILENT STDOUT_FILENO
#else
#define LAST_SILENT STDERR_FILENO
#endif

/* 0 or an errno, as posix_spawn(3) has them. */
static int plan_files(posix_spawn_file_actions_t *files, int theirs)
{
	int err = posix_spawn_file_actions_adddup2(files, theirs, READER_SOCKET), fd;

	for (fd = STDIN_FILENO; fd <= LAST_SILENT && !err; fd++)
		err = posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	return err;
}

/* No signal is blocked or ignored, and those of the terminal are not for it. */
static int plan_signals(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int err;

	sigemptyset(&none);
	sigfillset(&all);
	err = posix_spawnattr_setsigmask(attributes, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(attributes, &all);
	if (!err)
		err = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								   POSIX_SPAWN_SETSIGDEF |
								   POSIX_SPAWN_SETPGROUP);
	return err;
}

static int spawn(enum reader_role role, pid_t *child, int theirs)
{
	char option[32];
	char *const arguments[] = {"geckobpf", option, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	extern char **environ;
	int err;

	snprintf(option, sizeof(option), READER_OPTION "%s", reader_role_name(role));
	err = posix_spawn_file_actions_init(&files);
	if (err)
		return -err;
	err = posix_spawnattr_init(&attributes);
	if (!err) {
		err = plan_files(&files, theirs);
		if (!err)
			err = plan_signals(&attributes);
		if (!err)
			err = posix_spawn(child, PROGRAM, &files, &attributes, arguments, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

int reader_start(enum reader_role role, pid_t *child, int *fd)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = spawn(role, child, pair[1]);
	fd_close(&pair[1]);
	if (err) {
		fd_close(&pair[0]);
		return err;
	}
	hurry_up(*child);
	*fd = pair[0];
	return 0;
}
