/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * label.h - the text of a frame's location, such that the front-end reads it as what it is.
 *
 * "name (in lib)" is a native function. The lib must not contain ')'; a text that begins with
 * "0x" is taken for an address, one that ends in ":<digits>" for JavaScript. So nothing but an
 * address begins with 0x, and all else ends in ')'.
 */
#ifndef GECKOBPF_FORMAT_LABEL_H
#define GECKOBPF_FORMAT_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. items[0 .. count) is the text, without a NUL. */
struct label {
	char *items;
	size_t count, capacity;
};

void label_clear(struct label *label);

/*
 * Each sets the whole text. 0 or -ENOMEM. `path`: the last part of it is the lib's name; NULL or
 * "": [anon].
 */
int label_function(struct label *label, const char *name, const char *path);
int label_kernel(struct label *label, const char *name, const char *module);
/* For code of a file that no symbol covers: "lib+0x1a2b (in lib)". */
int label_offset(struct label *label, const char *path, uint64_t offset);
int label_address(struct label *label, uint64_t address);

/* The root of a stack that ended early: "(truncated: reason)". `end`: enum gb_stack_end. */
int label_truncated(struct label *label, unsigned int end);
/* The reason in words; NULL: not an early end. */
const char *label_stack_end(unsigned int end);

#endif
