/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86_64.h - what the table compiler knows of the machine: registers, expressions that only it has, code that it knows
 * by sight.
 */
#ifndef GECKOBPF_UNWIND_X86_64_H
#define GECKOBPF_UNWIND_X86_64_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_ELF EM_X86_64
#define MACHINE_ADDRESS_BYTES 8

/* DWARF numbers of the registers that are followed from frame to frame. */
enum machine_reg {
	MACHINE_REG_RBX = 3,
	MACHINE_REG_FP = 6,
	MACHINE_REG_SP = 7,
	MACHINE_REG_RA = 16, /* a column for the return address, not a register */
	MACHINE_REG_COUNT = 17,
};

/* A call leaves the return address here, from the CFA. */
#define MACHINE_RA_OFFSET (-8)

/* The enum gb_reg of a DWARF register other than RBP, RSP and the return address; -1: it has none. */
int machine_gb_reg(uint64_t dwarf_reg);

/* The enum gb_cfa_kind that the machine has for this whole expression, or 0. */
int machine_cfa_expression(const uint8_t *bytes, size_t size);

/*
 * Finds `mov $15, %eax` or `%rax`, then `syscall`: rt_sigreturn, to which the handler of a signal returns. True: it is
 * at code + *at, *length bytes long.
 */
bool machine_find_sigreturn(const uint8_t *code, size_t size, size_t *at, size_t *length);

/* The most bytes that one takes, and whether `size` is exactly that of one. */
#define MACHINE_SIGRETURN_MAX_BYTES 9
bool machine_sigreturn_size(uint64_t size);

/*
 * Finds `call *register; mov %eax, %edi; call function`, and behind it padding, so that the function does not return: what calls main,
 * and exit, in a libc without unwind information (musl). True: it is at code + *at, *length bytes long without the padding.
 */
bool machine_find_main_call(const uint8_t *code, size_t size, size_t *at, size_t *length);
#define MACHINE_MAIN_CALL_MAX_BYTES 13 /* with the padding looked at */

/*
 * Whether it is what a function run by makecontext(3) returns to: it takes RSP from RBX, and looks for a context to
 * go on with on top of the stack.
 */
#define MACHINE_START_CONTEXT_MIN_BYTES 16
#define MACHINE_START_CONTEXT_MAX_BYTES 96
bool machine_is_start_context(const uint8_t *code, size_t size);

/*
 * Where the code of a function has written RSP other than by adding a number, pushing or popping: the offset behind the first
 * instruction that loads it, moves to it or aligns it; `size` if none does.
 */
size_t machine_find_stack_change(const uint8_t *code, size_t size);

/*
 * Whether it is all of _init or _fini: [endbr64;] sub $8, %rsp (or push %rax); ...; add $8, %rsp (or pop %rax); ret. True: 8 bytes
 * more are on the stack from *pushed to *popped.
 */
bool machine_is_init(const uint8_t *code, size_t size, size_t *pushed, size_t *popped);

#endif
