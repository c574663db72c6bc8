/* SPDX-License-Identifier: BSD-2-Clause */
/* out_file.c - see out_file.h. The temporary is ".name.PID.tmp", in the same directory. */
#include "export/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/text_out.h"

struct out_file {
	char *path, *temporary; /* `temporary`: NULL when there is none to remove */
	FILE *stream;
};

static char *temporary_name(const char *path)
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

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

static int create(struct out_file *file, const char *path)
{
	char *temporary = temporary_name(path);
	int fd, err = 0;

	file->path = copy_text(path);
	if (!temporary || !file->path) {
		free(temporary);
		return -ENOMEM;
	}
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0) {
		err = -errno;
		free(temporary);
		return err;
	}
	file->temporary = temporary;
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

int out_file_commit(struct out_file *file)
{
	int err = text_out_flush(file->stream);

	if (fclose(file->stream) && !err)
		err = -errno;
	file->stream = NULL;
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	if (err)
		return err;
	free(file->temporary);
	file->temporary = NULL;
	return 0;
}

void out_file_close(struct out_file *file)
{
	if (!file)
		return;
	if (file->stream)
		fclose(file->stream);
	if (file->temporary)
		unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	free(file);
}
