/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instruction.h - machine code, one instruction at a time: how long it is, what it does to the stack pointer and to copies
 * of it, and where it goes on. The decoder is the machine's: arch_<machine>_decode.c.
 *
 * Registers are numbered by enum gb_reg.
 */
#ifndef GECKOBPF_UNWIND_INSTRUCTION_H
#define GECKOBPF_UNWIND_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
	INSTRUCTION_PLAIN, /* it writes to `written` alone */
	INSTRUCTION_PADDING, /* it does nothing, and may stand between functions */
	INSTRUCTION_PUSH, /* `value` bytes, of `source` if those are all of it */
	INSTRUCTION_POP, /* `value` bytes, into `target` if those are all of it */
	INSTRUCTION_MOVE, /* target = source */
	INSTRUCTION_ADD, /* target = source + value */
	INSTRUCTION_ZERO, /* target = 0 */
	INSTRUCTION_ALIGN, /* target &= a mask that clears its low bits */
	INSTRUCTION_LOAD, /* target = *(source + value) */
	INSTRUCTION_STORE, /* *(target + value) = source */
	INSTRUCTION_ADDRESS, /* target = an address `value` bytes from its end */
	INSTRUCTION_NUMBER, /* target = value, which may be an address */
	INSTRUCTION_LEAVE, /* SP = FP; pop FP */
	/* These go on elsewhere, those that can say it `value` bytes from their end. */
	INSTRUCTION_CALL,
	INSTRUCTION_CALL_INDIRECT,
	INSTRUCTION_JUMP,
	INSTRUCTION_BRANCH, /* or on */
	INSTRUCTION_JUMP_INDIRECT, /* by a register, or by memory that registers lead to */
	INSTRUCTION_JUMP_SLOT, /* by memory at a fixed address: to another file, mostly */
	INSTRUCTION_RETURN,
	INSTRUCTION_STOP, /* nothing comes after it */
};

struct instruction {
	uint8_t kind; /* enum instruction_kind */
	uint8_t length; /* bytes */
	uint8_t source, target; /* enum gb_reg; GB_REG_COUNT: something else */
	uint32_t
		written; /* bit per register that does not keep its value; SP's only where the kind does not say it */
	int64_t value;
};

/* The most bytes that an instruction has. */
#define INSTRUCTION_MAX_BYTES 15

/* The instruction that begins at `code`, of which there are `size` bytes. False: there is none. */
bool machine_decode(const uint8_t *code, size_t size, struct instruction *out);

/* Bit per register that a function may change without restoring it. */
extern const uint32_t machine_scratch_registers;

#endif
