/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_entries.h - a section that is a table, piece by piece: however large it says it is, memory is that of a piece. */
#ifndef GECKOBPF_ELF_ELF_ENTRIES_H
#define GECKOBPF_ELF_ELF_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct elf_section;

/* `count` entries, unaligned; they are gone when it returns. 0, or what ends the walk. */
typedef int elf_entries_fn(void *context, const char *entries, size_t count);

/*
 * Tells the whole entries of a section, each of `entry_bytes`, in order; those in holes of the file, which are zero, are left
 * out. At most *left_bytes are read, of which those that were are taken away. 0; -EFBIG: there are more; -ENOEXEC: it
 * has no contents, or compressed ones; -ENODATA: the file ends before it does; -ENOMEM; -errno; or what `tell` returned.
 */
int elf_entries_walk(const struct elf_file *file, const struct elf_section *section,
		     size_t entry_bytes, uint64_t *left_bytes, elf_entries_fn *tell, void *context);

#endif
