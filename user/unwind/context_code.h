/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * context_code.h - finds the code that coroutines made by makecontext(3) return to: the outermost frame of their stack.
 *
 * Nothing calls it either (see signal_code.h): the return address is its first byte, so it is taken
 * to begin one byte early. What describes it is wrong, for what lies above it on the stack is no
 * return address.
 */
#ifndef GECKOBPF_UNWIND_CONTEXT_CODE_H
#define GECKOBPF_UNWIND_CONTEXT_CODE_H

#include "unwind/eh_frame.h"
#include "unwind/elf_code.h"

/* Sets is_outermost of the function that is such code, by its looks, and moves its start. Only a libc has one. */
void context_code_mark(struct eh_frame *frame, const struct elf_code *code);

#endif
