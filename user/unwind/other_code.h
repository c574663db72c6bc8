/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * other_code.h - stretches of code that .eh_frame does not describe, but that we know as a whole:
 * Go's, _init, _fini and _start.
 *
 * (What is known of single instructions in between is in signal_code.h.)
 */
#ifndef GECKOBPF_UNWIND_OTHER_CODE_H
#define GECKOBPF_UNWIND_OTHER_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/go_code.h"
#include "unwind/init_code.h"

#define OTHER_CODE_INITS 3

struct other_code {
	struct go_code go;
	struct init_code init[OTHER_CODE_INITS];
};

/* Offsets in the text. */
struct code_range {
	uint32_t start, end;
	const struct init_code *init; /* NULL: Go code */
};

/*
 * `text` and `text_bytes` (< 2^32) as in struct eh_frame. 0; -ENOMEM; -errno of reading.
 * other_code_close() also where this failed.
 */
int other_code_open(struct other_code *other, const struct elf_code *code, uint64_t text,
		    uint64_t text_bytes);
void other_code_close(struct other_code *other);

/* To be called before the first other_code_add() of a table. */
void other_code_rewind(struct other_code *other, bool tracks_reg);

/* The first such stretch within [start, end), into *range. False: there is none. */
bool other_code_next(const struct other_code *other, uint32_t start, uint64_t end,
		     struct code_range *range);

/* Adds its rows, the first of which is at its start. 0 or -ENOMEM. */
int other_code_add(struct other_code *other, const struct code_range *range,
		   struct row_builder *builder, struct rule_set *rules);

#endif
