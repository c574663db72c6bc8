/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asm_code.h - rows for code that nobody has described, made of the code itself: hand-written assembly, programs built
 * without unwind information.
 *
 *   gaps between descriptions ──> windows of code ──code_flow──> states ──> rows
 *
 * In most files the gaps are few bytes. Where ways through the code do not agree, or none is known, no rule is made up:
 * the stack ends there, and says so; in code that keeps frame pointers these are followed, as before.
 */
#ifndef GECKOBPF_UNWIND_ASM_CODE_H
#define GECKOBPF_UNWIND_ASM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame.h"
#include "unwind/elf_code.h"
#include "unwind/limits.h"
#include "unwind/row_builder.h"
#include "unwind/rule_set.h"

struct asm_gap {
	uint32_t start, end; /* offsets in the text */
};

struct asm_row {
	uint32_t offset; /* in the text */
	bool is_known;
	struct cfa_state state; /* if it is */
};

/* Where a function begins, by what the file says. */
struct asm_entry {
	uint32_t offset; /* in the text */
	enum {
		ENTRY_NAMED,
		ENTRY_START,
		ENTRY_POINTED
	} kind; /* by a symbol; of the program; perhaps */
};

/* Zero-initialised is empty. */
struct asm_code {
	struct asm_gap *gaps; /* by address */
	size_t gap_count, gap_capacity;
	struct asm_entry *entries; /* in gaps; by address once all are there */
	size_t entry_count, entry_capacity;
	struct asm_row *rows; /* by address; each holds up to the next, or its gap's end */
	size_t row_count, row_capacity;
	bool keeps_fp; /* where nothing is known, frame pointers are */
	uint64_t stop_cpu_ns; /* of this thread: no window is begun later */
	uint64_t skipped_bytes; /* of all gaps, if those are not looked at */
	enum unwind_limit limit; /* why they are not */
};

/* [start, end), offsets in the text, has no description; ranges come by address. 0 or -ENOMEM. */
int asm_code_add_gap(struct asm_code *asm_code, const struct elf_code *code, uint32_t start,
		     uint32_t end);

/* Looks at all gaps between the functions of `frame`, by address in `order`. 0 or -ENOMEM. */
int asm_code_analyze(struct asm_code *asm_code, const struct elf_code *code,
		     const struct eh_frame *frame, const uint64_t *order);
/* Nothing is known of any gap, since `limit` was met. */
void asm_code_skip(struct asm_code *asm_code, enum unwind_limit limit);
void asm_code_close(struct asm_code *asm_code);

/* Adds rows for [start, end), the first of which is at its start. 0, -ENOMEM; -EFBIG of limits.h. */
int asm_code_add(const struct asm_code *asm_code, uint32_t start, uint32_t end, bool tracks_reg,
		 struct row_builder *builder, struct rule_set *rules);

#endif
