/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.h - symbol names for people: C++ (Itanium ABI) and Rust (legacy and v0) demangled,
 * always printable.
 */
#ifndef GECKOBPF_SYMBOL_DEMANGLE_H
#define GECKOBPF_SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* What a printed name takes at most, its NUL included. Longer ones are cut. */
#define DEMANGLE_MAX_BYTES 16384

/*
 * Prints the symbol `name` at `out` (DEMANGLE_MAX_BYTES), NUL-terminated, and returns its length. A
 * symbol version ("@GLIBC_2.14", "@@V1") is dropped, and what is not demangled is printed as it is;
 * `raw`: only the latter. Control characters and bytes that are not UTF-8 come out as '?'. Hostile
 * names are fine; memory is not allocated but on the stack.
 */
size_t demangle(const char *name, bool raw, char *out);

#endif
