/* SPDX-License-Identifier: BSD-2-Clause */
/* out_file.c - see out_file.h. */
#include "format/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_rights.h"
#include "base/naming.h"
#include "base/temporary.h"
#include "format/text_out.h"

struct out_file {
	char *path, *kept;
	char *temporary; /* NULL: there is none to remove, or to be given its name */
	FILE *stream;
};

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

static int open_direct(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

static int create(struct out_file *file, const char *path)
{
	int fd;

	file->path = copy_text(path);
	if (!file->path)
		return -ENOMEM;
	fd = naming_is_direct(path) ? open_direct(path) : temporary_create(path, &file->temporary);
	if (fd < 0)
		return fd;
	file->stream = fdopen(fd, "w");
	if (!file->stream) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

int out_file_open(struct out_file **out, const char *path)
{
	struct out_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	err = create(file, path);
	if (err) {
		out_file_close(file);
		return err;
	}
	*out = file;
	return 0;
}

FILE *out_file_stream(struct out_file *file)
{
	return file->stream;
}

int out_file_commit(struct out_file *file, const struct file_rights *rights, bool replaces)
{
	int err = text_out_flush(file->stream);

	if (file->temporary)
		file_rights_give(rights, fileno(file->stream));
	if (fclose(file->stream) && !err)
		err = -errno;
	file->stream = NULL;
	if (err || !file->temporary)
		return err;
	return naming_apply(file->path, replaces, &file->temporary, &file->kept);
}

const char *out_file_kept(const struct out_file *file)
{
	return file->kept;
}

void out_file_close(struct out_file *file)
{
	if (!file)
		return;
	if (file->stream)
		fclose(file->stream);
	temporary_remove(&file->temporary);
	free(file->path);
	free(file->kept);
	free(file);
}
