/* SPDX-License-Identifier: BSD-2-Clause */
/* naming.c - see naming.h. A file system without RENAME_NOREPLACE has link(2), which replaces nothing either, or neither. */
#include "base/naming.h"

#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NUMBER 100000
#define NUMBER_BYTES 16

int naming_rename(const char *from, const char *to)
{
	struct stat at;

	if (!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!link(from, to))
		return unlink(from) ? -errno : 0;
	if (errno == EEXIST || errno == ENOENT)
		return -errno;
	if (!lstat(to, &at))
		return -EEXIST;
	return rename(from, to) ? -errno : 0;
}

bool naming_is_direct(const char *path)
{
	struct stat at;

	if (!strcmp(path, "-"))
		return true;
	return !stat(path, &at) && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode);
}

/* Where a number goes: "x.json.gz" has two suffixes, "server.v2.folded" one, ".hidden" none. */
static size_t stem_length(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *end = strrchr(name, '.'), *before;

	if (!end || end == name)
		return strlen(path);
	if (strcmp(end, ".gz") != 0 && strcmp(end, ".zst") != 0)
		return (size_t)(end - path);
	for (before = end - 1; before > name && *before != '.'; before--)
		;
	return (size_t)((before > name ? before : end) - path);
}

static int add_number(const char *path, unsigned int number, char *out, size_t out_bytes)
{
	const size_t stem = stem_length(path);
	int got = snprintf(out, out_bytes, "%.*s-%u%s", (int)stem, path, number, path + stem);

	return got < 0 || (size_t)got >= out_bytes ? -ENAMETOOLONG : 0;
}

int naming_number(const char *path, unsigned int number, bool replaces, char *out, size_t out_bytes)
{
	const unsigned int end = number + MAX_NUMBER;
	struct stat at;
	int err;

	for (; number < end; number++) {
		err = add_number(path, number, out, out_bytes);
		if (err)
			return err;
		if (replaces || lstat(out, &at))
			return 0;
	}
	return -EEXIST;
}

/* Gives the file `path` the first numbered name that is free: *out, which is to be freed. 0 or -errno. */
static int move_away(const char *path, char **out)
{
	const size_t room = strlen(path) + NUMBER_BYTES;
	char *name = malloc(room);
	unsigned int number;
	int err = -EEXIST;

	if (!name)
		return -ENOMEM;
	for (number = 1; err == -EEXIST && number <= MAX_NUMBER; number++) {
		err = add_number(path, number, name, room);
		if (!err)
			err = naming_rename(path, name);
	}
	if (err)
		free(name);
	else
		*out = name;
	return err;
}

/* Another one may take the name between the two; then that one is kept, too. */
static int keep_older(const char *path, char **temporary, char **kept)
{
	char *older = NULL;
	struct stat at;
	int err;

	if (!lstat(path, &at) && S_ISDIR(at.st_mode))
		return -EISDIR;
	while ((err = temporary_rename_new(temporary, path)) == -EEXIST) {
		free(older);
		older = NULL;
		err = move_away(path, &older);
		if (err && err != -ENOENT)
			return err;
	}
	if (err)
		free(older);
	else
		*kept = older;
	return err;
}

int naming_apply(const char *path, bool replaces, char **temporary, char **kept)
{
	*kept = NULL;
	return replaces ? temporary_rename(temporary, path) : keep_older(path, temporary, kept);
}
