/* SPDX-License-Identifier: BSD-2-Clause */
/* arch_x86_64_decode.h - an instruction taken apart, before anybody asks what it does to the stack: see instruction.h. */
#ifndef GECKOBPF_UNWIND_ARCH_X86_64_DECODE_H
#define GECKOBPF_UNWIND_ARCH_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the tables say of an opcode. */
enum {
	BAD = 1 << 15, /* there is none */
	M = 1 << 0, /* ModRM */
	I1 = 1 << 1, /* an immediate of one byte */
	I4 = 1 << 2, /* of four, two with the prefix 66 */
	I2 = 1 << 3, /* of two */
	R = 1 << 4, /* writes the register of ModRM.reg */
	E = 1 << 5, /* of ModRM.rm, if that is one */
	V = 1 << 6, /* of VEX.vvvv */
	O = 1 << 7, /* of the opcode's low bits */
	B = 1 << 8, /* those are bytes: AH and the like without REX */
	A = 1 << 9, /* RAX */
	D = 1 << 10, /* RDX */
	C = 1 << 11, /* RCX */
	S = 1 << 12, /* RSI, RDI: strings */
};

/* Opcodes of all other maps have ModRM, and an immediate by their map. */
enum opcode_map {
	MAP_ONE_BYTE = 0,
	MAP_0F = 1,
	MAP_0F38 = 2,
	MAP_0F3A = 3,
	MAP_EVEX5 = 5,
	MAP_EVEX6 = 6,
	MAP_XOP8 = 8,
	MAP_XOP9 = 9,
	MAP_XOPA = 10,
	MAP_COUNT
};

/* One being decoded. */
struct decoding {
	const uint8_t *code;
	size_t size, at;
	bool has_66, has_67, has_segment;
	uint8_t rep; /* f2, f3 or 0 */
	bool has_rex; /* bytes are the low ones of all registers */
	bool is_vector;
	uint8_t wide; /* REX.W */
	uint8_t reg_high, index_high, base_high; /* 0 or 8 */
	uint8_t vector; /* the register of VEX.vvvv */
	uint8_t map, opcode, modrm;
	uint16_t what;
	/* The operand of ModRM: the register `rm`; or memory at that register + displacement if is_simple, at a fixed address (is_relative: + displacement from the instruction's end)
	 * if is_fixed. */
	bool is_register, is_simple, is_fixed, is_relative;
	uint8_t reg, rm;
	int64_t displacement, immediate;
};

/* Takes apart the one at d->code, of which there are d->size bytes; all else is zero. False: there is none. */
bool x86_64_decode(struct decoding *d);

#endif
