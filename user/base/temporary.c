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

static const char *volatile current; /* exists, or will in a moment; NULL: none does */

static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	int directory = slash ? (int)(slash - path + 1) : 0;
	size_t size = strlen(path) + sizeof("..-2147483648.tmp");
	char *name = malloc(size);

	if (name)
		snprintf(name, size, "%.*s.%s.%d.tmp", directory, path, path + directory,
			 (int)getpid());
	return name;
}

int temporary_create(const char *path, char **name)
{
	char *made = name_of(path);
	int fd, err;

	if (!made)
		return -ENOMEM;
	current = made;
	fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		err = -errno;
		current = NULL;
		free(made);
		return err;
	}
	*name = made;
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
