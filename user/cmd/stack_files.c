/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_files.c - see stack_files.h. What another kind of file needs is a loader that fills the same struct stack_profile. */
#include "cmd/stack_files.h"

#include "base/log.h"
#include "export/fault.h"
#include "export/stack_json.h"
#include "export/stack_profile.h"

#include <errno.h>
#include <string.h>

#define WANTED "give a .json, .json.gz or .json.zst file that geckobpf wrote"

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

int stack_files_load(struct stack_profile **out, const char *const *paths, size_t count)
{
	struct stack_profile *profile;
	struct fault fault = {""};
	size_t i;
	int err = stack_profile_open(&profile);

	if (err) {
		log_error("out of memory");
		return err;
	}
	for (i = 0; i < count && !err; i++) {
		err = stack_json_load(profile, paths[i], &fault);
		if (err)
			log_failure(paths[i], err, &fault);
	}
	if (err) {
		stack_profile_close(profile);
		return err;
	}
	*out = profile;
	return 0;
}
