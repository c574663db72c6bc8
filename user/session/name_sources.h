/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_sources.h - where the names of code in raw captures come from: files here or elsewhere, servers, and what the
 * captures have of kernels.
 */
#ifndef GECKOBPF_SESSION_NAME_SOURCES_H
#define GECKOBPF_SESSION_NAME_SOURCES_H

#include <stddef.h>

#include "elf/file_search.h"

struct capture_files;
struct conversion_options;
struct kernel_symbols;
struct debuginfod;
struct named_files;

struct name_sources {
	struct file_search search;
	struct debuginfod *debuginfod; /* NULL: not asked */
	struct named_files *named_files; /* NULL: addresses are wanted */
	struct kernel_symbols **kernels; /* of each boot; NULL: not known */
	size_t count;
};

/*
 * Also decides which files that were recorded without a build id are the ones that are here: of this boot, and
 * untouched since. 0 or -errno.
 */
int name_sources_open(struct name_sources *sources, const struct capture_files *captures,
		      const struct conversion_options *options);
/* Fine for a zeroed one, and a half-built one. */
void name_sources_close(struct name_sources *sources);

#endif
