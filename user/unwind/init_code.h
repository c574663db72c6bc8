/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * init_code.h - rows of _init, _fini and the code at which a file begins to run, which compilers put together from pieces of
 * assembler that nobody described.
 *
 * On x86-64 _init and _fini are:
 *
 *       endbr64; sub $8, %rsp │ what objects have added, as a call of __gmon_start__; add $8, %rsp │ ret
 *       CFA = RSP + 8         │ RSP + 16                                                           │ RSP + 8
 *
 * The first instruction of a library's _init is where its first page of code is read in, so it is
 * met far more often than its length would suggest. The code at which a file begins is the outermost
 * frame: _start of a program, or of a dynamic linker, which calls what initialises libraries.
 */
#ifndef GECKOBPF_UNWIND_INIT_CODE_H
#define GECKOBPF_UNWIND_INIT_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/elf_code.h"
#include "unwind/row_builder.h"
#include "unwind/rule_set.h"

/* One of the three, offsets in the text; start == end: there is none that we know by sight. */
struct init_code {
	uint32_t start, end;
	bool is_entry; /* nothing called it; the next two are not used */
	uint32_t pushed, popped; /* between them 8 bytes are on the stack */
};

/* Looks at a section, .init or .fini. `text` and `text_bytes` (< 2^32) as in struct eh_frame. */
void init_code_find(struct init_code *init, const struct elf_code *code,
		    const struct elf_part *part, uint64_t text, uint64_t text_bytes);

/* The same for the entry of the file. */
void init_code_find_entry(struct init_code *init, const struct elf_code *code, uint64_t text,
			  uint64_t text_bytes);

/* Adds its rows. 0 or -ENOMEM. */
int init_code_add(const struct init_code *init, struct row_builder *builder,
		  struct rule_set *rules);

#endif
