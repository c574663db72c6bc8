/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plt.h - names for the stubs of the procedure linkage table, which have no symbols.
 */
#ifndef GECKOBPF_SYMBOL_PLT_H
#define GECKOBPF_SYMBOL_PLT_H

#include <stdint.h>

struct elf_file;
struct symbol_table;

/*
 * Adds the file's linkage stubs to `table`, which already has the file's .dynsym: its strings are
 * `source`. A file without any is fine. 0; -ENOEXEC or -ENODATA: what is there is malformed; -EFBIG: it is more than is read;
 * -ENOMEM; -errno.
 */
int plt_add(struct symbol_table *table, const struct elf_file *file, uint8_t source);

#endif
