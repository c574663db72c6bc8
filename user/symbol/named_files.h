/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * named_files.h - what is known of the files that code is in: functions by their places, build ids, where segments are.
 *
 *   offsets ──those that are not known──> name_question.h ──> whoever parses ──> name_answer.h ──> spans of offsets, kept
 *
 * Nothing of a file is parsed here, and what is kept is what was asked for. To ask takes tens of microseconds, so many are
 * asked for at once. One thread at a time.
 */
#ifndef GECKOBPF_SYMBOL_NAMED_FILES_H
#define GECKOBPF_SYMBOL_NAMED_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_files.h"

struct cancel;
struct named_file;
struct named_files;

struct named_options {
	const char *debug_dir; /* borrowed; NULL: /usr/lib/debug */
	/* where else files are, copied; what it points to is borrowed; NULL: nowhere */
	const struct file_search *search;
	struct cancel *cancel; /* borrowed: then nothing is asked any more; NULL: never */
};

/* `options` may be NULL. 0 or -ENOMEM. */
int named_files_open(struct named_files **out, const struct named_options *options);
/* NULL is fine. */
void named_files_close(struct named_files *files);

/* Adds a file, which lives until named_files_close(); nothing is asked yet. All of `source` is borrowed. 0 or -ENOMEM. */
int named_files_add(struct named_files *files, const struct symbol_source *source,
		    struct named_file **out);

/* The function that some code is in. Texts are printable, not empty, and live until named_files_close(). */
struct named_code {
	const char *name; /* demangled; NULL: only where it starts is known */
	const char *source; /* the file of its source; NULL: not known */
	uint64_t start, size; /* see struct symbol */
	uint32_t line; /* 0: not known */
};

/*
 * The function at `offset` bytes into the file (mapping.offset + address - mapping.start). 0; -ENOENT: it is not known, or
 * the file cannot be had; -EINTR: cancelled; -ENOMEM.
 */
int named_file_find(struct named_file *file, uint64_t offset, struct named_code *out);

/* Asks for all that will be looked for, in any order; they are moved about. 0; -EINTR; -ENOMEM. */
int named_file_ask(struct named_file *file, uint64_t *offsets, size_t count);

/* Why code in it has no name, after it was looked for. *other: what was met instead, for SYMBOL_TROUBLE_OTHER_BUILD. */
enum symbol_trouble named_file_trouble(const struct named_file *file, struct other_file *other);

/* The build id, at most `capacity` bytes of it; *size 0: it has none, or cannot be had. 0, -EINTR or -ENOMEM. */
int named_file_build_id(struct named_file *file, uint8_t *bytes, size_t capacity, size_t *size);

/* How offsets become virtual addresses, and the lowest page that the file loads. 0, -ENOENT, -EINTR, -ENOMEM. */
int named_file_address(struct named_file *file, uint64_t offset, uint64_t *address);
int named_file_base(struct named_file *file, uint64_t *base);

#endif
