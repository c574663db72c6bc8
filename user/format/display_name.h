/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * display_name.h - what a function is shown as: its name and its lib in one text, such that the front-end reads it as
 * what it is.
 *
 * "name (in lib)" is a native function. The lib must not contain ')'; a text that begins with
 * "0x" is taken for an address, one that ends in ":<digits>" for JavaScript. So nothing but an
 * address begins with 0x, and all else ends in ')'.
 */
#ifndef GECKOBPF_FORMAT_DISPLAY_NAME_H
#define GECKOBPF_FORMAT_DISPLAY_NAME_H

#include <stddef.h>

struct profile_function;

/* Zero-initialised is empty. items[0 .. count) is the text, without a NUL. */
struct display_name {
	char *items;
	size_t count, capacity;
	size_t name_count; /* of it, up to " (in lib)" */
};

void display_name_clear(struct display_name *name);

/*
 * Sets the whole text. 0 or -ENOMEM.
 *
 *   name (in lib)                a function
 *   lib!fn@0x1a00 (in lib)       the function that starts at that virtual address of a file; it has no symbol
 *   lib+0x1a2b (in lib)          code there, of which no more is known
 *   0x7f0012345678               code at that address, of which nothing is known, or wanted
 *   name                         what is in no file, such as (truncated: reason)
 */
int display_name_set(struct display_name *name, const struct profile_function *function);

#endif
