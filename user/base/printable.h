/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printable.h - what may be shown of a text that somebody else chose: names of programs, threads, files and functions,
 * and arguments. A terminal obeys some characters, and others make a text look like another one.
 */
#ifndef GECKOBPF_BASE_PRINTABLE_H
#define GECKOBPF_BASE_PRINTABLE_H

#include <stddef.h>

/*
 * How many bytes the character at the beginning of `text` has, which has `length` bytes, not 0. 0: it is none to be shown:
 * a control character, of C1 too, one that changes the direction of writing, or a byte that is not UTF-8.
 */
size_t printable_character(const char *text, size_t length);

/* Each byte that is not to be shown becomes '?'. */
void printable_clean(char *text, size_t length);

#endif
