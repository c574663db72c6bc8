/* SPDX-License-Identifier: BSD-2-Clause */
/* temporary.c - see temporary.h. What a signal handler has to know is the only state. */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NUMBER 1000

static const char *volatile current; /* exists; NULL: none does */

/* The name until then; `number` from 2 on: another one, for the first is taken. The caller's. */
static char *name_of(const char *path, int number)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path + 1) : 0;
	size_t size = strlen(path) + sizeof("..-2147483648-1000.tmp");
	char *name = malloc(size), tail[16] = "";

	if (number > 1)
		snprintf(tail, sizeof(tail), "-%d", number);
	if (name)
		snprintf(name, size, "%.*s.%s.%d%s.tmp", directory, path, path + directory,
			 (int)getpid(), tail);
	return name;
}

/* A descriptor, or -errno: -EEXIST if the name is taken. */
static int create(const char *path, mode_t mode, int number, char **name)
{
	char *made = name_of(path, number);
	sigset_t all, before;
	int fd;

	if (!made)
		return -ENOMEM;
	/* A signal between the two would leave the file there, or remove another's. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		fd = -errno;
	else
		current = made;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (fd >= 0)
		*name = made;
	else
		free(made);
	return fd;
}

int temporary_create(const char *path, mode_t mode, char **name)
{
	int fd = -EEXIST, number;

	/* In a container, every process may have the pid of one that was killed. */
	for (number = 1; fd == -EEXIST && number < MAX_NUMBER; number++)
		fd = create(path, mode, number, name);
	return fd;
}

static void forget(char **name)
{
	if (current == *name)
		current = NULL;
	free(*name);
	*name = NULL;
}

int temporary_rename(char **name, const char *path)
{
	if (rename(*name, path))
		return -errno;
	forget(name);
	return 0;
}

void temporary_remove(char **name)
{
	if (!*name)
		return;
	unlink(*name);
	forget(name);
}

static void on_signal(int number)
{
	if (current)
		unlink(current);
	/* As if there had been no handler; it is delivered when this one returns. */
	signal(number, SIG_DFL);
	raise(number);
}

void temporary_guard(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	const struct sigaction action = {.sa_handler = on_signal};
	struct sigaction was;
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &was) && was.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	signal(SIGXFSZ, SIG_IGN);
}
