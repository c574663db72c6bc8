/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * go_code.h - rows of Go code, which has no .eh_frame: made of the table that Go's own tracebacks and its garbage
 * collector go by.
 *
 *   .gopclntab:  header │ names │ depths of the stack │ functions: (start, where) each, sorted │ descriptions
 *                                        ▲                                   │                       │ ▲
 *                                        │                                   └───────────────────────┼─┘
 *                                        └───────────────────────────────────────────────────────────┘
 *
 * A depth is how far the return address is above the stack pointer, exact at every instruction.
 * Some functions have rules of their own:
 *
 *   TOPFRAME   nothing called them (goexit, mstart): the end, where Go's own tracebacks end as complete
 *   SPWRITE    they change to another stack. From there on the frame pointer still points at the frame
 *              of the caller, or at the function's own: it leads to the stack before. But what mcall,
 *              morestack and clone call is the first on the stack they change to, and nothing returns
 *              to them: they are its end.
 *   sigreturn  what signal handlers return to
 *
 * The layouts are those of Go 1.18, and of 1.20 and later. Everything in the table is checked: it is hostile input.
 */
#ifndef GECKOBPF_UNWIND_GO_CODE_H
#define GECKOBPF_UNWIND_GO_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/elf_code.h"
#include "unwind/row_builder.h"
#include "unwind/rule_set.h"

struct cursor;

struct go_code {
	const struct elf_code *code; /* borrowed */
	uint8_t *bytes; /* .gopclntab; NULL: there is none that we can read */
	size_t size;
	uint64_t address; /* of bytes[0] */
	uint64_t text; /* address of the text that rows are for */
	uint64_t base; /* offset in it of what functions count from */
	/* offsets in the text of the first function, and of the last one's end */
	uint32_t start, end;
	uint32_t function_count;
	uint32_t names, values, functions; /* offsets in `bytes` */
	uint32_t units, files; /* the same, for lines; `size`: they are not there */
	bool has_lines; /* descriptions are those of 1.20 on */
	bool tracks_reg;
	bool is_too_large; /* there is one, which is not read */
	size_t rows_left; /* a bound, lest a small file make a large table */
	size_t steps_left; /* the same for what is looked at, which functions may share */
	unsigned int peeks_left;
};

/*
 * Looks for the table; where there is none, or one that makes no sense, start == end. `text` and
 * `text_bytes` (< 2^32) as in struct eh_frame. 0; -ENOMEM; -errno of reading. go_code_close() also
 * where this failed.
 */
int go_code_open(struct go_code *go, const struct elf_code *code, uint64_t text,
		 uint64_t text_bytes);
void go_code_close(struct go_code *go);

/* To be called before the first go_code_add() of a table. */
void go_code_rewind(struct go_code *go, bool tracks_reg);

/* Adds the rows of [start, end), within [go->start, go->end): the first is at `start`. 0 or -ENOMEM. */
int go_code_add(struct go_code *go, uint32_t start, uint32_t end, struct row_builder *builder,
		struct rule_set *rules);

struct go_function_name {
	uint32_t start, end; /* offsets in the text */
	const char *name; /* in go->bytes; NULL: the table has none */
	size_t described_at; /* offset in go->bytes of its description, up to its flags; 0: there is none */
};

/* The function at an offset in the text; false: that is none of Go's code. */
bool go_code_find(const struct go_code *go, uint64_t offset, struct go_function_name *out);

/* Where in a description the flags are. */
size_t go_code_flags_at(const struct go_code *go);

/*
 * Values of one function: (how much more, zigzag; over how many bytes of code) each, in LEB128, from a value of -1 on.
 * False: that was the last.
 */
bool go_code_next_value(struct cursor *values, bool is_first, int64_t *value, uint64_t *bytes);

#endif
