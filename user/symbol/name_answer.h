/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_answer.h - what was found out about a file, as one piece of memory that another process may have made, and is not
 * believed.
 *
 *   | head | segments | spans, rising | texts, each with a NUL |    a multiple of 8 bytes
 */
#ifndef GECKOBPF_SYMBOL_NAME_ANSWER_H
#define GECKOBPF_SYMBOL_NAME_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_layout.h"
#include "symbol/symbol_files.h"

struct name_question;
struct name_writer;

#define NAME_TEXT_NONE UINT32_MAX
/* More is none: names of 16 KiB, of each of so many offsets as are asked for at once. */
#define NAME_ANSWER_MAX_BYTES ((size_t)64 << 20)
#define NAME_MAX_SEGMENTS 4096

/* What is known of some of the file: offsets [first, end). */
struct name_span {
	uint64_t first, end;
	uint64_t start, size; /* of the function: see struct symbol */
	uint32_t name, source; /* where in the texts; NAME_TEXT_NONE: not known */
	uint32_t line;
	uint32_t is_function; /* 0: nothing is known */
};

struct name_answer {
	char *bytes; /* of malloc(), all of it; the rest points into it */
	size_t size;
	int layout_error; /* 0: there is one, if it was asked for */
	struct elf_layout layout;
	enum symbol_trouble trouble; /* why code of it has no names, where it has none */
	struct other_file other;
	const struct name_span *spans;
	size_t span_count;
	char *texts;
	size_t text_bytes;
};

/*
 * Fills in what points into answer->bytes, which is 8-aligned, with all indexes such as may be used, and each offset that
 * was asked for in a span. 0, or -EBADMSG: it is no answer to that.
 */
int name_answer_read(struct name_answer *answer, const struct name_question *question);

/* ---- making one ------------------------------------------------------------------------ */

/* 0 or -ENOMEM. */
int name_writer_open(struct name_writer **out);
void name_writer_close(struct name_writer *writer);

/* `error`: of reading the layout, which is NULL then. */
void name_writer_layout(struct name_writer *writer, int error, const struct elf_layout *layout);
void name_writer_trouble(struct name_writer *writer, enum symbol_trouble trouble,
			 const struct other_file *other);
/* span->name and source become those of the texts, either of which may be NULL; a text stays where it is meanwhile. 0 or -ENOMEM. */
int name_writer_add(struct name_writer *writer, struct name_span *span, const char *name,
		    const char *source);
/* *bytes is the caller's. 0; -E2BIG: it is too much; -ENOMEM. */
int name_writer_finish(struct name_writer *writer, char **bytes, size_t *size);

#endif
