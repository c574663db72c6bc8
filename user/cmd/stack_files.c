/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_files.c - see stack_files.h. */
#include "cmd/stack_files.h"

#include "base/error.h"
#include "base/log.h"
#include "cmd/raw_profile.h"
#include "format/gecko_reader.h"
#include "format/stack_profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WANTED "give a .json, .json.gz, .json.zst or .gbpf file that geckobpf wrote"

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

static void name_all(char *name, size_t size, const char *const *paths, size_t count)
{
	if (count == 1)
		snprintf(name, size, "%s", paths[0]);
	else
		snprintf(name, size, "%s and %zu more", paths[0], count - 1);
}

static int load_raw(struct stack_profile *profile, const char *const *paths, size_t count,
		    const struct raw_profile_options *options)
{
	char name[PATH_MAX];

	name_all(name, sizeof(name), paths, count);
	return raw_profile_load(paths, count, options, name, profile);
}

static int load(struct stack_profile *profile, const char *path)
{
	struct error error = {0};
	int err = gecko_reader_load(profile, path, &error);

	if (err)
		log_failure(path, err, &error);
	return err;
}

/* A profile has lost what some options need. 0, or -EINVAL, which has been logged. */
static int check_options(const char *path, const struct conversion_options *options)
{
	if (!profile_filter_is_empty(&options->filter))
		log_error("%s: not a raw capture, so --from, --to, --process and --thread cannot "
			  "choose a part of it; give a .gbpf file",
			  path);
	else if (options->redacts)
		log_error("%s: not a raw capture, so --redact cannot tell what in it is an "
			  "argument, a directory or an address; give a .gbpf file",
			  path);
	else
		return 0;
	return -EINVAL;
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
		if (conversion_is_capture(paths[i])) {
			raw[raw_count++] = paths[i];
			continue;
		}
		err = check_options(paths[i], &options->conversion);
		if (!err)
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

bool stack_files_have_losses(const struct stack_profile *profile)
{
	size_t i;

	for (i = 0; i < profile->sources.count; i++)
		if (stack_source_has_losses(&profile->sources.items[i]))
			return true;
	return false;
}
