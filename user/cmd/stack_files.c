/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_files.c - see stack_files.h. */
#include "cmd/stack_files.h"

#include "base/log.h"
#include "cmd/raw_profile.h"
#include "export/fault.h"
#include "export/stack_json.h"
#include "export/stack_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WANTED "give a .json, .json.gz, .json.zst or .gbpf file that geckobpf wrote"

static void log_failure(const char *path, int err, const struct fault *fault)
{
	switch (err) {
	case -ENOMEM:
		log_error("%s: out of memory; it needs some 300 bytes for each sample of a thread",
			  path);
		break;
	case -EBADMSG:
		log_error("%s: not a profile, or damaged: %s; " WANTED, path, fault->text);
		break;
	case -EFBIG:
		log_error("%s: too large: %s; record for a shorter time, or at a lower --rate",
			  path, fault->text);
		break;
	case -ENOENT:
	case -EACCES:
		log_error("%s: %s; check its name and permissions", path, strerror(-err));
		break;
	default:
		log_error("%s: %s; " WANTED, path, strerror(-err));
	}
}

/* The raw captures become a profile first, which is read and thrown away. */
static int load_raw(struct stack_profile *profile, const char *const *paths, size_t count,
		    const struct raw_profile_options *options)
{
	const char *parent = getenv("TMPDIR");
	char directory[4096], file[4112];
	struct fault fault = {""};
	int err;

	snprintf(directory, sizeof(directory), "%s/geckobpf-XXXXXX",
		 parent && *parent ? parent : "/tmp");
	if (!mkdtemp(directory)) {
		err = -errno;
		log_error("%s: cannot make a directory there: %s; set TMPDIR", directory,
			  strerror(-err));
		return err;
	}
	snprintf(file, sizeof(file), "%s/profile.json", directory);
	err = raw_profile_write(paths, count, file, options);
	if (!err) {
		err = stack_json_load(profile, file, &fault);
		if (err)
			log_failure(paths[0], err, &fault);
	}
	unlink(file);
	rmdir(directory);
	return err;
}

static int load(struct stack_profile *profile, const char *path)
{
	struct fault fault = {""};
	int err = stack_json_load(profile, path, &fault);

	if (err)
		log_failure(path, err, &fault);
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
