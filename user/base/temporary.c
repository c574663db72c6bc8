/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * temporary.c - see temporary.h. What a signal handler has to know is the only state: the list of all temporaries, each
 * of which enters and leaves it with one store.
 */
#include "base/temporary.h"

#include "base/file_rights.h"
#include "base/naming.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_NUMBER 1000

struct temporary {
	struct temporary *volatile next;
	pid_t owner; /* a child that was forked meanwhile leaves it alone */
	char name[];
};

static struct temporary *volatile first; /* of those that exist */

/* Its name is `name`. */
static struct temporary *of_name(char *name)
{
	return (struct temporary *)(name - offsetof(struct temporary, name));
}

/* `number` from 2 on: another name, for the first is taken. NULL: there is no memory. */
static struct temporary *make(const char *path, int number)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path + 1) : 0;
	size_t size = strlen(path) + sizeof("..-2147483648-1000.tmp");
	struct temporary *temporary = malloc(sizeof(*temporary) + size);
	char tail[16] = "";

	if (!temporary)
		return NULL;
	temporary->owner = getpid();
	if (number > 1)
		snprintf(tail, sizeof(tail), "-%d", number);
	snprintf(temporary->name, size, "%.*s.%s.%d%s.tmp", directory, path, path + directory,
		 (int)getpid(), tail);
	return temporary;
}

static void enter(struct temporary *temporary)
{
	temporary->next = first;
	first = temporary;
}

static void leave(const struct temporary *temporary)
{
	struct temporary *volatile *at = &first;

	while (*at && *at != temporary)
		at = &(*at)->next;
	if (*at)
		*at = temporary->next;
}

/* A descriptor, or -errno: -EEXIST if the name is taken. */
static int create(const char *path, int number, char **name)
{
	struct temporary *made = make(path, number);
	sigset_t all, before;
	int fd;

	if (!made)
		return -ENOMEM;
	/* A signal between the two would leave the file there, or remove another's. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	fd = open(made->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_RIGHTS_MODE);
	if (fd < 0)
		fd = -errno;
	else
		enter(made);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (fd >= 0)
		*name = made->name;
	else
		free(made);
	return fd;
}

int temporary_create(const char *path, char **name)
{
	int fd = -EEXIST, number;

	/* In a container, every process may have the pid of one that was killed. */
	for (number = 1; fd == -EEXIST && number < MAX_NUMBER; number++)
		fd = create(path, number, name);
	return fd;
}

static void forget(char **name)
{
	struct temporary *temporary = of_name(*name);

	leave(temporary);
	free(temporary);
	*name = NULL;
}

int temporary_rename(char **name, const char *path)
{
	if (rename(*name, path))
		return -errno;
	forget(name);
	return 0;
}

int temporary_rename_new(char **name, const char *path)
{
	int err = naming_rename(*name, path);

	if (!err)
		forget(name);
	return err;
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
	const struct temporary *temporary;

	for (temporary = first; temporary; temporary = temporary->next)
		if (temporary->owner == getpid())
			unlink(temporary->name);
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
