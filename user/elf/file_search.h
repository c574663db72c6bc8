/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_search.h - finds the file with a build id, or the debug file of it, wherever it may lie now.
 *
 *   the file       PATH, then for each DIR   DIR/.build-id/ab/cdef...   DIR/PATH   DIR/NAME   then servers
 *   debug file     for each DIR   DIR/.build-id/ab/cdef....debug   DIR/usr/lib/debug/.build-id/ab/cdef....debug
 *                  DIR/PATH.debug   DIR/usr/lib/debug/PATH.debug   DIR/NAME.debug   and where the file is looked for
 *
 * NAME is the last part of PATH. In a DIR symbolic links are followed as if it were the root, and
 * if that fails, as they are. Only a file with the build id that is wanted is found; others in
 * these places are passed over.
 */
#ifndef GECKOBPF_ELF_FILE_SEARCH_H
#define GECKOBPF_ELF_FILE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_layout.h"

struct elf_file;

/* Zeroed: only PATH is looked at. All is borrowed. */
struct file_search {
	const char *const *dirs;
	size_t dir_count;
	/* Servers have it: a descriptor of what has that build id, or is the debug file of it, the caller's; -errno. NULL: nobody is asked. */
	int (*fetch)(void *context, const uint8_t *build_id, size_t build_id_bytes,
		     bool wants_debug);
	void *context;
};

enum file_part {
	FILE_PART_CODE, /* as it was mapped: it has its code in it, symbols perhaps */
	FILE_PART_DEBUG, /* it has a .symtab, code perhaps */
};

struct wanted_file {
	const char *path; /* where it was; NULL: not known */
	const uint8_t *build_id; /* not empty */
	size_t build_id_bytes;
};

/* What else was met under the file's name. */
struct other_file {
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	size_t build_id_bytes; /* 0: it has none */
	bool is_there;
};

/*
 * Opens the wanted part of a file; *out is the caller's to close. `other`, which may be NULL, is
 * set when a file with another build id was met. 0; -ENOENT: not found; -ENOMEM.
 */
int file_search_find(const struct file_search *search, const struct wanted_file *want,
		     enum file_part part, struct elf_file **out, struct other_file *other);

#endif
