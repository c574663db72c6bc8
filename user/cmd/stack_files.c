/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_files.c - see stack_files.h. */
#include "cmd/stack_files.h"

#include "base/fd.h"
#include "base/log.h"
#include "cmd/raw_profile.h"
#include "format/content.h"
#include "base/error.h"
#include "format/json_walk.h"
#include "format/stack_json.h"
#include "format/stack_profile.h"
#include "format/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WANTED "give a .json, .json.gz, .json.zst or .gbpf file that geckobpf wrote"

static int log_no_file(int err)
{
	log_error("%s: cannot make a temporary file there: %s; set TMPDIR to another directory",
		  spool_directory(), strerror(-err));
	return err;
}

static void log_failure(const char *path, int err, const struct error *error)
{
	switch (err) {
	case -ENOMEM:
		log_error("%s: out of memory; it needs some 300 bytes for each sample of a thread",
			  path);
		break;
	case -EBADMSG:
		log_error("%s: not a profile, or damaged: %s; " WANTED, path, error->cause);
		break;
	case -EFBIG:
		log_error("%s: too large: %s; record for a shorter time, or at a lower --rate",
			  path, error->cause);
		break;
	case -ENOENT:
	case -EACCES:
		log_error("%s: %s; check its name and permissions", path, strerror(-err));
		break;
	default:
		log_error("%s: %s; " WANTED, path, strerror(-err));
	}
}

/* A file without a name, so that nothing is left of it whatever ends us. A descriptor or -errno. */
static int open_nameless(void)
{
	const char *directory = spool_directory();
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[PATH_MAX];

	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/geckobpf-XXXXXX", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* What has no name can be written as stdout, of which nobody else makes use meanwhile. */
static int write_raw(int fd, const char *const *paths, size_t count,
		     const struct raw_profile_options *options)
{
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), err = 0;

	if (saved < 0 && errno != EBADF) /* it may be closed */
		return log_no_file(-errno);
	if (dup2(fd, STDOUT_FILENO) < 0)
		err = log_no_file(-errno);
	if (!err)
		err = raw_profile_write(paths, count, "-", options);
	if (saved < 0)
		close(STDOUT_FILENO);
	else if (dup2(saved, STDOUT_FILENO) < 0 && !err)
		err = log_no_file(-errno);
	fd_close(&saved);
	return err;
}

static void name_all(char *name, size_t size, const char *const *paths, size_t count)
{
	if (count == 1)
		snprintf(name, size, "%s", paths[0]);
	else
		snprintf(name, size, "%s and %zu more", paths[0], count - 1);
}

static int read_profile(struct stack_profile *profile, int fd, const char *const *paths,
			size_t count)
{
	struct error error = {0};
	char file[32], name[PATH_MAX];
	size_t size;
	char *text;
	int err;

	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	name_all(name, sizeof(name), paths, count);
	err = content_read(file, JSON_WALK_MAX_BYTES, &text, &size, &error);
	if (!err) {
		err = stack_json_parse(profile, name, text, size, &error);
		free(text);
	}
	if (err)
		log_failure(paths[0], err, &error);
	return err;
}

/* The raw captures become a profile first, which is read and thrown away. */
static int load_raw(struct stack_profile *profile, const char *const *paths, size_t count,
		    const struct raw_profile_options *options)
{
	int fd = open_nameless(), err;

	if (fd < 0)
		return log_no_file(fd);
	err = write_raw(fd, paths, count, options);
	if (!err)
		err = read_profile(profile, fd, paths, count);
	fd_close(&fd);
	return err;
}

static int load(struct stack_profile *profile, const char *path)
{
	struct error error = {0};
	int err = stack_json_load(profile, path, &error);

	if (err)
		log_failure(path, err, &error);
	return err;
}

/* Raw captures together: they may be of the same samples. */
static int load_all(struct stack_profile *profile, const char *const *paths, size_t count,
		    const struct raw_profile_options *options)
{
	const char **raw = calloc(count, sizeof(*raw));
	size_t raw_count = 0, i;
	int err = 0;

	if (!raw) {
		log_error("out of memory");
		return -ENOMEM;
	}
	for (i = 0; i < count && !err; i++) {
		if (is_raw_capture(paths[i]))
			raw[raw_count++] = paths[i];
		else
			err = load(profile, paths[i]);
	}
	if (!err && raw_count)
		err = load_raw(profile, raw, raw_count, options);
	free(raw);
	return err;
}

int stack_files_load(struct stack_profile **out, const char *const *paths, size_t count,
		     const struct raw_profile_options *options)
{
	struct stack_profile *profile;
	int err = stack_profile_open(&profile);

	if (err) {
		log_error("out of memory");
		return err;
	}
	err = load_all(profile, paths, count, options);
	if (err) {
		stack_profile_close(profile);
		return err;
	}
	*out = profile;
	return 0;
}
