/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_symbols.h - names of kernel addresses, from /proc/kallsyms. */
#ifndef GECKOBPF_SYMBOL_KERNEL_SYMBOLS_H
#define GECKOBPF_SYMBOL_KERNEL_SYMBOLS_H

#include <stdint.h>

struct kernel_symbols;

/*
 * Reads `path` (NULL: /proc/kallsyms). 0; -EACCES: the kernel hides the addresses (kptr_restrict);
 * -errno.
 */
int kernel_symbols_open(struct kernel_symbols **out, const char *path);
void kernel_symbols_close(struct kernel_symbols *symbols);

/*
 * The function at `address`, or NULL. *module gets the module's name, or NULL for the kernel
 * proper; *start where the function starts. Both may be NULL. Names live until close.
 */
const char *kernel_symbols_lookup(const struct kernel_symbols *symbols, uint64_t address,
				  const char **module, uint64_t *start);

#endif
