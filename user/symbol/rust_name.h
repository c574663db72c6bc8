/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_name.h - whether libiberty's demangler comes to an end with a Rust symbol (v0 mangling).
 *
 * A binder says how many lifetimes it introduces as a number of any size, and libiberty counts up to it, also where it
 * prints nothing and so cannot be stopped. (Numbers in real names are 1 or 2.)
 */
#ifndef GECKOBPF_SYMBOL_RUST_NAME_H
#define GECKOBPF_SYMBOL_RUST_NAME_H

#include <stdbool.h>

/* Longer names are not looked at, and not bounded. */
#define RUST_NAME_MAX_BYTES 4096

/*
 * `mangled` begins with "_R". True if no binder can be large: nothing in the name looks like one, or it can be parsed,
 * and none is.
 */
bool rust_name_is_bounded(const char *mangled);

#endif
