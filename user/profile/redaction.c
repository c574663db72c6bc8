/* SPDX-License-Identifier: BSD-2-Clause */
/* redaction.c - see redaction.h. */
#include "profile/redaction.h"

#include <stddef.h>
#include <string.h>

const char *redaction_words(enum redacted kind)
{
	static const char *const words[REDACTED_COUNT] = {
		[REDACTED_ARGUMENTS] = "command lines' arguments",
		[REDACTED_DIRECTORIES] = "directories of files",
		[REDACTED_SOURCES] = "directories of sources",
		[REDACTED_ADDRESSES] = "addresses of programs",
		[REDACTED_KERNEL_ADDRESSES] = "addresses of the kernel",
		[REDACTED_MACHINE] = "facts of the machine",
	};

	return words[kind];
}

void redaction_add(struct redaction *redaction, enum redacted kind)
{
	if (redaction)
		redaction->counts[kind]++;
}

const char *redaction_path(const struct redaction *redaction, const char *path)
{
	const char *slash = redaction && path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}
