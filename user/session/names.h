/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names.h - where the names of code in raw captures come from: files here or elsewhere, servers, and what the captures
 * have of kernels.
 */
#ifndef GECKOBPF_SESSION_NAMES_H
#define GECKOBPF_SESSION_NAMES_H

#include <stddef.h>

#include "elf/file_search.h"

struct captures;
struct conversion_options;
struct kernel_symbols;
struct symbol_files;

struct names {
	struct file_search search;
	struct symbol_files *symbol_files; /* NULL: addresses are wanted */
	struct kernel_symbols **kernels; /* of each boot; NULL: not known */
	size_t count;
};

/*
 * Also decides which files that were recorded without a build id are the ones that are here: of this boot, and
 * untouched since. 0 or -errno.
 */
int names_open(struct names *names, const struct captures *captures,
	       const struct conversion_options *options);
/* Fine for a zeroed one, and a half-built one. */
void names_close(struct names *names);

#endif
