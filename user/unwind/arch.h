/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch.h - what the table compiler knows of the machine: its registers, expressions that only it
 * has, code that it knows by sight. Numbers are in include/arch; the functions are in
 * arch_<machine>.c.
 */
#ifndef GECKOBPF_UNWIND_ARCH_H
#define GECKOBPF_UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"

/* The enum gb_reg of a DWARF register other than frame pointer, stack pointer and return address; -1: it has none. */
int machine_gb_reg(uint64_t dwarf_reg);

/* The DWARF register of one that has an enum gb_reg for machine_gb_reg(). */
uint8_t machine_dwarf_reg(uint8_t gb_reg);

/* The enum gb_cfa_kind that the machine has for this whole expression, or 0. */
int machine_cfa_expression(const uint8_t *bytes, size_t size);

/*
 * Finds the system call rt_sigreturn, to which the handler of a signal returns. True: it begins at
 * code + *at and is *length bytes long, at most MACHINE_SIGRETURN_MAX_BYTES.
 */
bool machine_find_sigreturn(const uint8_t *code, size_t size, size_t *at, size_t *length);

/* Whether `size` is exactly that of code which makes this system call, and nothing else. */
bool machine_sigreturn_size(uint64_t size);

/*
 * Finds what calls main or a thread's function, and exits with what it returns, in a libc without
 * unwind information (musl): a call by a register, then one of a function that does not return, for
 * padding is behind it; or the system call exit. True: it is at code + *at, *length bytes long
 * without the padding.
 */
bool machine_find_outermost_call(const uint8_t *code, size_t size, size_t *at, size_t *length);

/*
 * Whether this code is what a function run by makecontext(3) returns to: it takes the stack pointer
 * from a saved register, and looks for a context to go on with on top of the stack. One has
 * MACHINE_START_CONTEXT_MIN_BYTES at least, and at most MAX.
 */
bool machine_is_start_context(const uint8_t *code, size_t size);

/*
 * Where the code of a function has written the stack pointer other than by adding a number, pushing
 * or popping: the offset behind the first instruction that loads it, moves to it or aligns it;
 * `size` if none does.
 */
size_t machine_find_stack_change(const uint8_t *code, size_t size);

/*
 * How long the code is at which a program begins to run, which comes from nowhere: up to the call
 * that does not return, or, in a dynamic linker, up to the jump into the program. 0: it is none
 * that we know; at most MACHINE_ENTRY_MAX_BYTES.
 */
size_t machine_entry_length(const uint8_t *code, size_t size);

/*
 * Whether this code is all of _init or _fini. True: one word more is on the stack from *pushed to
 * *popped.
 */
bool machine_is_init(const uint8_t *code, size_t size, size_t *pushed, size_t *popped);

#endif
