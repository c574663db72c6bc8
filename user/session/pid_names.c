/* SPDX-License-Identifier: BSD-2-Clause */
/* pid_names.c - see pid_names.h. Processes that go meanwhile are not there. */
#include "session/pid_names.h"

#include "base/array.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DELETED " (deleted)"

int pid_list_add(struct pid_list *list, pid_t pid)
{
	if (ARRAY_ROOM(list))
		return -ENOMEM;
	list->items[list->count++] = pid;
	return 0;
}

/* The name of the file that it runs. False: it runs none: a kernel thread, a zombie, or one that is gone. */
static bool read_file_name(pid_t pid, char *out, size_t out_bytes)
{
	char link[32], path[PATH_MAX];
	const char *slash;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return false;
	path[length] = '\0';
	if ((size_t)length > strlen(DELETED) && !strcmp(path + length - strlen(DELETED), DELETED))
		path[(size_t)length - strlen(DELETED)] = '\0';
	slash = strrchr(path, '/');
	return (size_t)snprintf(out, out_bytes, "%s", slash ? slash + 1 : path) < out_bytes;
}

/* "": it is gone. */
static void read_comm(pid_t pid, char *out, size_t out_bytes)
{
	char path[32], *text;

	*out = '\0';
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (fd_read_file(path, &text, NULL))
		return;
	snprintf(out, out_bytes, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

/* 1: it was added, 0: another name, or -ENOMEM. */
static int look_at(pid_t pid, const char *name, struct pid_list *list, struct nearest *nearest)
{
	char file[NAME_MAX + 1], comm[32];
	int err;

	if (pid == getpid() || !read_file_name(pid, file, sizeof(file)))
		return 0;
	read_comm(pid, comm, sizeof(comm));
	if (strcmp(file, name) != 0 && strcmp(comm, name) != 0) {
		nearest_offer(nearest, file);
		nearest_offer(nearest, comm);
		return 0;
	}
	err = pid_list_add(list, pid);
	return err ? err : 1;
}

int pid_names_find(const char *name, struct pid_list *list, struct nearest *nearest)
{
	const struct dirent *entry;
	int count = 0, found;
	DIR *directory;

	/* An empty directory is no list of processes. */
	if (access("/proc/self/comm", F_OK))
		return -errno;
	directory = opendir("/proc");
	if (!directory)
		return -errno;
	while (count >= 0 && (entry = readdir(directory))) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
			continue;
		found = look_at((pid_t)atoi(entry->d_name), name, list, nearest);
		count = found < 0 ? found : count + found;
	}
	closedir(directory);
	return count;
}
