/* SPDX-License-Identifier: BSD-2-Clause */
/* asm_entries.h - where a file says that functions begin in code without a description: symbols, its start, pointers. */
#ifndef GECKOBPF_UNWIND_ASM_ENTRIES_H
#define GECKOBPF_UNWIND_ASM_ENTRIES_H

#include "unwind/asm_code.h"

/* Fills asm_code->entries for its gaps, by address. `text`: address of the text. 0 or -ENOMEM. */
int asm_entries_find(struct asm_code *asm_code, const struct elf_code *code, uint64_t text);

#endif
