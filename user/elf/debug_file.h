/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_file.h - the symbols that were stripped from a file, where its system has them: in a file of their own, or
 * packed into a section. Wherever else they may lie: file_search.h.
 */
#ifndef GECKOBPF_ELF_DEBUG_FILE_H
#define GECKOBPF_ELF_DEBUG_FILE_H

#include <stddef.h>

struct elf_file;
struct elf_layout;
struct name_budget;

struct debug_place {
	const char *path; /* of the stripped file, for debug links; NULL: not known */
	const char *root; /* where `path` holds: "/proc/PID/root"; NULL: here */
	const char *debug_dir; /* "/usr/lib/debug" */
};

/*
 * Opens the separate debug file of `file`, by build id or by .gnu_debuglink, below `root` or else
 * here. It has a .symtab and the same build id, or the checksum of the debug link, which is paid from `budget`. 0, -ENOENT:
 * there is none; -EFBIG: there may be one, but its checksum would cost more than that has; -ENOMEM.
 */
int debug_file_open(struct elf_file **out, const struct elf_file *file,
		    const struct elf_layout *layout, const struct debug_place *place,
		    struct name_budget *budget);

/*
 * Opens what is in the section .gnu_debugdata of `file`. 0; -ENOENT: it has none; -ENOEXEC; -EFBIG: it unpacks to more than
 * `budget` has; -ENOMEM; -errno.
 */
int debug_file_open_embedded(struct elf_file **out, const struct elf_file *file,
			     struct name_budget *budget);

#endif
